"""``netloom infer``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["infer"]


def infer(
    scenario: Path | None = None,
    *,
    own: Path | None = None,
    json: bool = False,
    report: Path | None = None,
    why: bool = False,
) -> None:
    """Predict how fast a cluster serves a model: first token, later tokens, throughput.

    Args:
        scenario: A scenario file with a 'serving' section; without, Llama 3.1 70B on 64 H100.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
        report: Write a self-contained HTML page to this file.
        why: Explain the times and the throughput down to constants and sources.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json, write_atomically  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.serving.inference import infer as infer_service  # noqa: PLC0415

    with scenario_at(scenario, built_in="llama-3.1-70b-serving") as asked:
        found = infer_service(asked, catalog_of(asked, own))
    if report is not None:
        from netloom.report.serving.page import inference_page  # noqa: PLC0415

        write_atomically(report, inference_page(found))
    if json:
        emit_json(found.why() if why else found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.serving.text import inference_text  # noqa: PLC0415
    from netloom.report.why import why_tree  # noqa: PLC0415

    console = Console()
    console.print(why_tree(found.why()) if why else inference_text(found))
    if report is not None:
        console.print(f"\nReport: {report}", highlight=False, markup=False)
