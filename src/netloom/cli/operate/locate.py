"""``netloom locate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.app import locate as app
from netloom.cli.operate.designed import designed_at
from netloom.cli.options import Output
from netloom.cli.output import emit_json, write_atomically
from netloom.cli.show import verdict
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.app.locate import LocateReport, StoredFindings

__all__ = ["locate"]


def locate(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    observations: Path | None = None,
    lab: str = "",
    store: str = "",
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    catalog: Path | None = None,
    report: Path | None = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Say which part of a fabric is broken, how sure that is, and who is hurt.

    Args:
        scenario: The scenario file that the fabric was built from.
        observations: A JSON file of flows, port counters and routes: docs/models/locate.md.
        lab: Look at this lab instead, live.
        store: Say instead what a watch that keeps this store, a file or postgresql://..., has found
            in the last day.
        folder: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs).
        catalog: A TOML file with parts and prices of your own.
        report: Write a self-contained HTML page to this file; of one look, not of a store.
    """
    if report is not None and store:
        raise SpecError(
            option="--report", what="a page is of one look", remedy="leave --store out, or --report"
        )
    # The store of a watch has findings, which need no design.
    designed = None if store else designed_at(scenario, catalog)
    found = app.locate(
        designed, observations=observations, lab=lab, store=store or None, folder=folder
    )
    if report is not None and isinstance(found, app.LocateReport):
        _write(found, report)
    result = found.to_json()
    code = verdict(output, result)
    if output.json:
        emit_json(result)
    else:
        _print(found)
    return code


def _write(found: LocateReport, path: Path) -> None:
    from netloom.report.ops.locate_page import findings_page  # noqa: PLC0415  (slow)

    write_atomically(path, findings_page(found))


def _print(report: LocateReport | StoredFindings) -> None:
    # Slow, and JSON has no use for them.
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.ops.locate import cases_text, findings_text  # noqa: PLC0415

    if isinstance(report, app.StoredFindings):
        looked_s, failing = report.looked_s, report.failing
        print(cases_text(report.cases, now_s=report.now_s, looked_s=looked_s, failing=failing))
        return
    console = Console()
    console.print(findings_text(report.findings, num_flows=report.num_flows))
    for queue in report.congestion:
        console.print(f"no fault: {queue.text()}", markup=False)
    for one in report.disputes:
        console.print(f"sources disagree on {one.part}: {'; '.join(one.says)}", markup=False)
    for doubt in report.doubts:
        console.print(f"not known: {doubt}", markup=False)
