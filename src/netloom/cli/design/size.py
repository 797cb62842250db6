"""``netloom size``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netloom.cli.arguments import OptionalWhole
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.progress import progress
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.topology import TOPOLOGIES
from netloom.study.inputs import catalog_of
from netloom.study.size.request import SizingRequest, topology_of
from netloom.study.size.sizing import Sizing
from netloom.study.size.sizing import size as size_network

if TYPE_CHECKING:
    from rich.console import RenderableType

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
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Size a network: how many switches and cables, what they cost and what they draw.

    Args:
        scenario: Take cluster and machine room from this file; then give no other option of them.
        gpus: GPUs to attach.
        nodes: Nodes to attach, instead of GPUs.
        node: Catalogue name of the node; default: dgx-h100.
        switch: Catalogue name of the switch; default: the technology's own.
        technology: Catalogue name of the technology; default: the one that fits switch and node.
        topology: What to build; default: the first that fits.
        oversubscription: Host bandwidth over uplink bandwidth at a leaf; 1 is non-blocking.
        tiers: Switch tiers; default: the fewest that fit.
        planes: Parallel networks each NIC is split over.
    """
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

    def text() -> RenderableType:
        from netloom.report.size import size_report  # noqa: PLC0415  (rich)

        return size_report(found)

    def page() -> str:
        from netloom.report.size_page import sizing_page  # noqa: PLC0415  (jinja2)

        return sizing_page(found)

    return show(found, output, text, page=page)


def _asked(given: Mapping[str, object], own: Path | None) -> Sizing:
    wish = SizingRequest(**given)  # type: ignore[arg-type]  # typed as the command's options
    return size_network(wish, load_catalog(own))


def _of_scenario(scenario: Path, given: Mapping[str, object], own: Path | None) -> Sizing:
    if given:
        names = ", ".join(name.removeprefix("num_") for name in given)
        raise SpecError(
            what=f"{scenario}: the scenario says what to size", remedy=f"drop {names}, or the file"
        )
    with scenario_at(scenario) as read:
        return size_network(read, catalog_of(read, own))
