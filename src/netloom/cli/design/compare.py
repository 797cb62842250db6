"""``netloom compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from netloom.cli.arguments import OptionalWhole, Whole, technologies_of
from netloom.cli.design.draws import draws

__all__ = ["compare"]


def compare(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    technologies: str | None = None,
    own: Path | None = None,
    engine: Literal["analytic", "flow", "packet"] = "analytic",
    seed: Whole = 0,
    seeds: OptionalWhole = None,
    json: bool = False,
    report: Path | None = None,
    why: str | None = None,
) -> None:
    """Compare network technologies for one cluster and job, and recommend one.

    Args:
        scenario: A scenario file; without, the built-in example: Llama 3.1 405B on 16,384 H100.
        technologies: Compare these, separated by commas, instead of the scenario's own list.
        own: A TOML file with parts and prices of your own.
        engine: analytic (a closed form), flow (every hop routed over the network as built) or
            packet (a step of every collective's hops run packet by packet; small clusters).
        seed: With --engine flow or packet, which draw of the hash.
        seeds: With --engine flow, also each step's distribution over this many draws, from --seed.
        json: Print JSON; keys are documented in docs/json.md.
        report: Write a self-contained HTML page to this file.
        why: Explain one number: FIELD or FIELD:TECHNOLOGY, such as step_time_s:rocev2-400g.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import announce, emit_json, write_atomically  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.compare.comparison import compare as compare_technologies  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.predict.engines import engine_named  # noqa: PLC0415
    from netloom.study.predict.hash_variance import check_draws  # noqa: PLC0415

    check_draws(seeds, engine, seed=seed)
    with scenario_at(scenario) as given:
        catalog = catalog_of(given, own)
        asked = given.comparing(technologies_of(technologies, catalog) or given.compare)
        with progress("comparing technologies", len(asked.compare)) as advance:
            found = compare_technologies(
                asked,
                catalog,
                engine=engine_named(engine, seed=seed, announce=announce),
                advance=advance,
            )
        compared = [contender.name for contender in found.contenders]
        drawn = () if seeds is None else draws(asked, catalog, range(seed, seed + seeds), compared)
    if report is not None:
        from netloom.report.compare.page import comparison_page  # noqa: PLC0415

        write_atomically(report, comparison_page(found))
    if json:
        more = {"luck": [one.to_json() for one in drawn]} if drawn else {}
        emit_json(found.to_json() | more if why is None else found.why(why))
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.compare.text import comparison_text  # noqa: PLC0415
    from netloom.report.hash_variance import luck_table  # noqa: PLC0415
    from netloom.report.why import why_tree  # noqa: PLC0415

    console = Console()
    console.print(comparison_text(found) if why is None else why_tree(found.why(why)))
    if drawn:
        console.print("", luck_table(drawn))
    if report is not None:
        console.print(f"\nReport: {report}", highlight=False, markup=False)
