"""``netloom compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.console import Group, RenderableType

from netloom.cli.arguments import OptionalWhole, Whole, technologies_of
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.output import announce
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.compare.page import comparison_page
from netloom.report.compare.text import comparison_text
from netloom.report.hash_variance import luck_table
from netloom.study.compare.comparison import compare as compare_technologies
from netloom.study.inputs import catalog_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.hash_variance import HashVariance, check_draws, draws

__all__ = ["compare"]


def compare(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    technologies: str | None = None,
    own: OwnParts = None,
    engine: Literal["analytic", "flow", "packet"] = "analytic",
    seed: Whole = 0,
    seeds: OptionalWhole = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Compare network technologies for one cluster and job, and recommend one.

    A FIELD of --why may name a technology, such as step_time_s:rocev2-400g; default: the one
    that is recommended.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        technologies: Compare these, separated by commas, instead of the scenario's own list.
        engine: analytic (a closed form), flow (every hop routed over the network as built) or
            packet (a step of every collective's hops run packet by packet; small clusters).
        seed: With --engine flow or packet, which draw of the hash.
        seeds: With --engine flow, also each step's distribution over this many draws, from --seed.
    """
    check_draws(seeds, engine, seed=seed)
    with scenario_at(scenario) as given:
        catalog = catalog_of(given, own)
        asked = given.comparing(technologies_of(technologies, catalog) or given.compare)
        chosen = engine_named(engine, seed=seed, announce=announce)
        with reporting("comparing technologies") as told:
            found = compare_technologies(asked, catalog, engine=chosen, on_progress=told)
        drawn: tuple[HashVariance, ...] = ()
        if seeds is not None:
            names = [contender.name for contender in found.contenders]
            with reporting("drawing hashes") as told:
                drawn = draws(asked, catalog, range(seed, seed + seeds), names, on_progress=told)

    def text() -> RenderableType:
        said = comparison_text(found)
        return Group(said, "", luck_table(drawn)) if drawn else said

    more = {"luck": [one.to_json() for one in drawn]} if drawn else {}
    return show(found, output, text, page=lambda: comparison_page(found), more=more)
