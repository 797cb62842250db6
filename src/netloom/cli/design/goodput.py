"""``netloom goodput``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["goodput"]


def goodput(
    scenario: Path | None = None,
    *,
    own: Path | None = None,
    json: bool = False,
    why: bool = False,
) -> None:
    """Say how much of the time a job makes progress, what stops it, and what would help most.

    Args:
        scenario: A scenario file; without, Llama 3.1 405B on 16,384 H100.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
        why: Explain the goodput down to constants and sources.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.goodput.uptime import uptime  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415

    with scenario_at(scenario) as asked:
        found = uptime(asked, catalog_of(asked, own))
    if json:
        emit_json(found.why() if why else found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.goodput import goodput_text  # noqa: PLC0415
    from netloom.report.why import why_tree  # noqa: PLC0415

    Console().print(why_tree(found.why()) if why else goodput_text(found))
