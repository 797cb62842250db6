"""``netloom locate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.parts.parts import Technology

__all__ = ["locate"]

DAY_S: Final = 86_400.0


def locate(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    observations: Path | None = None,
    lab: str = "",
    store: Path | None = None,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    own: Path | None = None,
    json: bool = False,
) -> None:
    """Say which part of a fabric is broken, how sure that is, and who is hurt.

    Args:
        scenario: The scenario file that the fabric was built from.
        observations: A JSON file of flows, port counters and routes: docs/models/locate.md.
        lab: Look at this lab instead, live.
        store: Say instead what a watch that keeps this store has found in the last day.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.fabric.build import build  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415

    if (observations is not None) + bool(lab) + (store is not None) != 1:
        message = (
            "say what to look at: --observations FILE, --lab NAME or --store FILE, one of them"
        )
        raise SpecError(message)
    if store is not None:
        _from_store(store, json=json)
        return
    with scenario_at(scenario) as asked:
        network = network_of(asked.cluster, catalog_of(asked, own))
        fabric = build(network.design, network.node, network.scale_up)
    if observations is None:
        sight = _live(lab, folder, fabric, network.technology)
    else:
        sight = _from_file(observations, fabric, network.technology)
    if json:
        disputes = [{"part": str(one.part), "says": list(one.says)} for one in sight.disputes]
        emit_json(
            {
                "findings": [finding.to_json() for finding in sight.findings],
                "disputes": disputes,
                "doubts": list(sight.doubts),
            }
        )
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.ops.locate import findings_text  # noqa: PLC0415

    console = Console()
    console.print(findings_text(sight.findings, num_flows=sight.num_flows))
    for one in sight.disputes:
        console.print(f"sources disagree on {one.part}: {'; '.join(one.says)}", markup=False)
    for doubt in sight.doubts:
        console.print(f"not known: {doubt}", markup=False)


def _from_store(path: Path, *, json: bool) -> None:
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.drivers.clock import WallClock  # noqa: PLC0415
    from netloom.ops.observe.cases import cases_in  # noqa: PLC0415
    from netloom.report.ops.locate import cases_text  # noqa: PLC0415

    cases = cases_in(path, start_s=WallClock().now_s() - DAY_S)
    if json:
        emit_json({"findings": [case.to_json() for case in cases]})
    else:
        print(cases_text(cases))


def _from_file(path: Path, fabric: Fabric, technology: Technology) -> Snapshot:
    from netloom.errors import at  # noqa: PLC0415
    from netloom.ops.heal.snapshot import Snapshot  # noqa: PLC0415
    from netloom.ops.locate.findings import find  # noqa: PLC0415
    from netloom.ops.locate.read import observations_of, parse_observed  # noqa: PLC0415
    from netloom.spec.files import read_text  # noqa: PLC0415

    text = read_text(path, max_bytes=1 << 28, wanted="a JSON file of observations")
    with at(file=str(path)):
        seen = observations_of(fabric, parse_observed(text, str(path)))
    found = find(fabric, seen, technology)
    return Snapshot(findings=found, taken_s=0.0, num_flows=len(seen))


def _live(lab: str, folder: Path | None, fabric: Fabric, technology: Technology) -> Snapshot:
    from netloom.app.lab.store import LabFolder, default_folder  # noqa: PLC0415
    from netloom.app.locate.lab import observe  # noqa: PLC0415

    return observe(LabFolder.of(lab, folder or default_folder()), fabric, technology)
