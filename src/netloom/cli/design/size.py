"""``netloom size``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netloom.cli.arguments import OptionalWhole
from netloom.spec.topology import TOPOLOGIES
from netloom.study.size.request import SizingRequest, topology_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.study.size.sizing import Sizing

    Kind = str
else:
    Kind = Literal[TOPOLOGIES.names()]

__all__ = ["size"]


def size(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    gpus: OptionalWhole = None,
    nodes: OptionalWhole = None,
    node: str | None = None,
    switch: str | None = None,
    technology: str | None = None,
    topology: Kind | None = None,
    oversubscription: float | None = None,
    tiers: OptionalWhole = None,
    planes: OptionalWhole = None,
    own: Path | None = None,
    json: bool = False,
    why: str | None = None,
) -> None:
    """Size a network: how many switches and cables, what they cost and what they draw.

    Args:
        scenario: Take cluster and machine room from this file; then give no other option of them.
        gpus: GPUs to attach.
        nodes: Nodes to attach, instead of GPUs.
        node: Catalogue name of the node; dgx-h100 without.
        switch: Catalogue name of the switch; the technology's own without.
        technology: Catalogue name of the technology; the one that fits switch and node without.
        topology: What to build; the first that fits without.
        oversubscription: Host bandwidth over uplink bandwidth at a leaf; 1 is non-blocking.
        tiers: Switch tiers; the fewest that fit without.
        planes: Parallel networks each NIC is split over.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
        why: Explain one number: switches, cables, transceivers, capex_usd or power_w.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415

    wished = topology_of(topology, oversubscription=oversubscription, tiers=tiers, planes=planes)
    options = {
        "num_gpus": gpus,
        "num_nodes": nodes,
        "node": node,
        "switch": switch,
        "technology": technology,
        "topology": wished,
    }
    given = {name: value for name, value in options.items() if value is not None}
    with progress("sizing", None):
        found = _asked(given, own) if scenario is None else _of_scenario(scenario, given, own)
    if json:
        emit_json(found.why(why) if why else found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.size import size_report  # noqa: PLC0415
    from netloom.report.why import why_tree  # noqa: PLC0415

    Console().print(why_tree(found.why(why)) if why else size_report(found))


def _asked(given: Mapping[str, object], own: Path | None) -> Sizing:
    from netloom.parts.load import load_catalog  # noqa: PLC0415
    from netloom.study.size.sizing import size as size_network  # noqa: PLC0415

    wish = SizingRequest(**given)  # type: ignore[arg-type]  # typed as the command's options
    return size_network(wish, load_catalog(own))


def _of_scenario(scenario: Path, given: Mapping[str, object], own: Path | None) -> Sizing:
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.size.sizing import size as size_network  # noqa: PLC0415

    if given:
        names = ", ".join(name.removeprefix("num_") for name in given)
        message = f"{scenario}: the scenario says what to size; drop {names}, or the file"
        raise SpecError(message)
    with scenario_at(scenario) as read:
        return size_network(SizingRequest.of(read.cluster), catalog_of(read, own))
