"""``netloom share``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["share"]


def share(
    scenario: Path,
    *,
    own: Path | None = None,
    json: bool = False,
    report: Path | None = None,
) -> None:
    """Say how much several jobs on one fabric slow one another.

    Args:
        scenario: A scenario file with 'jobs'.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
        report: Write a self-contained HTML page to this file.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json, write_atomically  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.whatif.share import share as share_fabric  # noqa: PLC0415

    with scenario_at(scenario) as asked:
        found = share_fabric(asked, catalog_of(asked, own))
    if report is not None:
        from netloom.report.whatif.share_page import sharing_page  # noqa: PLC0415

        write_atomically(report, sharing_page(found))
    if json:
        emit_json(found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.whatif.share import sharing_text  # noqa: PLC0415

    console = Console()
    console.print(sharing_text(found))
    if report is not None:
        console.print(f"\nReport: {report}", highlight=False, markup=False)
