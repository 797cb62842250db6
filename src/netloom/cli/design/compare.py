"""``netloom compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netloom.cli.arguments import OptionalWhole, Whole, technologies_of, words_of
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.output import announce
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.study.compare.comparison import compare as compare_technologies
from netloom.study.inputs import catalog_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.hash_variance import HashVariance, check_draws, draws

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.engines.base import Engine
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["compare"]


def compare(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    technologies: str | None = None,
    chips: bool = False,
    architectures: str | None = None,
    ceiling: bool = False,
    own: OwnParts = None,
    engine: Literal["analytic", "flow", "packet"] = "analytic",
    seed: Whole = 0,
    seeds: OptionalWhole = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Compare network technologies for one cluster and job, and recommend one.

    With --chips, rank what switches and NICs could do in place of RoCEv2 with PFC and DCQCN.

    A FIELD of --why may name a technology or a chip, such as step_time_s:rocev2-400g; default: the
    one that is recommended.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        technologies: Compare these, separated by commas, instead of the scenario's own list.
        chips: Compare chip architectures in place of technologies.
        architectures: With --chips, these alone, separated by commas.
        ceiling: With --chips, where RoCEv2 stops scaling and which single change moves it most:
            chips on growing clusters and incasts, and every knob turned; a minute or two.
        engine: analytic (a closed form), flow (every hop routed over the network as built) or
            packet (a step of every collective's hops run packet by packet; small clusters).
        seed: With --engine flow or packet, which draw of the hash.
        seeds: With --engine flow, also each step's distribution over this many draws, from --seed.
    """
    check_draws(seeds, engine, seed=seed)
    _check_chips(technologies, seeds, chips=chips)
    _check_chip_options(architectures, chips=chips, ceiling=ceiling)
    if chips:
        asked_chips = words_of(architectures, option="--architectures")
        chosen = engine_named(engine, seed=seed, announce=announce)
        with scenario_at(scenario) as given:
            catalog = catalog_of(given, own)
            if ceiling:
                return _ceiling(
                    given, catalog, asked_chips, engine=chosen, seed=seed, output=output
                )
            return _chips(given, catalog, asked_chips, engine=chosen, seed=seed, output=output)
    with scenario_at(scenario) as given:
        catalog = catalog_of(given, own)
        asked = given.comparing(technologies_of(technologies, catalog) or given.compare)
        where = asked.cluster.fabric
        chosen = engine_named(engine, seed=seed, announce=announce, fabric=where)
        with reporting("comparing technologies") as told:
            found = compare_technologies(asked, catalog, engine=chosen, on_progress=told)
        drawn: tuple[HashVariance, ...] = ()
        if seeds is not None:
            names = [contender.name for contender in found.contenders]
            with reporting("drawing hashes") as told:
                drawn = draws(asked, catalog, range(seed, seed + seeds), names, on_progress=told)

    def text() -> RenderableType:
        from netloom.report.compare.text import comparison_text  # noqa: PLC0415  (rich)
        from netloom.report.hash_variance import with_luck  # noqa: PLC0415

        return with_luck(comparison_text(found), drawn)

    def page() -> str:
        from netloom.report.compare.page import comparison_page  # noqa: PLC0415  (charts)

        return comparison_page(found)

    more = {"luck": [one.to_json() for one in drawn]} if drawn else {}
    return show(found, output, text, page=page, more=more)


def _check_chips(technologies: str | None, seeds: int | None, *, chips: bool) -> None:
    """Refuse options that nothing would come of."""
    if chips and (technologies is not None or seeds is not None):
        raise SpecError(
            option="--technologies" if seeds is None else "--seeds",
            what="--chips compares chips, each on a technology and seeds of its own",
            remedy="leave it out, or use --architectures",
        )


def _check_chip_options(architectures: str | None, *, chips: bool, ceiling: bool) -> None:
    if architectures is not None and not chips:
        raise SpecError(
            option="--architectures", what="they are chips", remedy="say --chips as well"
        )
    if ceiling and not chips:
        raise SpecError(
            option="--ceiling", what="it is a question about chips", remedy="say --chips as well"
        )


def _chips(
    scenario: Scenario,
    catalog: Catalog,
    names: tuple[str, ...],
    *,
    engine: Engine,
    seed: int,
    output: WhyPageOutput,
) -> int:
    from netloom.report.compare.chips.page import chips_page  # noqa: PLC0415  (native code)
    from netloom.report.compare.chips.text import chips_text  # noqa: PLC0415

    with reporting("comparing chips") as told:
        found = compare_technologies(
            scenario, catalog, chips=names, engine=engine, seed=seed, on_progress=told
        )
    return show(found, output, lambda: chips_text(found), page=lambda: chips_page(found))


def _ceiling(
    scenario: Scenario,
    catalog: Catalog,
    names: tuple[str, ...],
    *,
    engine: Engine,
    seed: int,
    output: WhyPageOutput,
) -> int:
    from netloom.report.compare.chips.ceiling_page import ceiling_page  # noqa: PLC0415  (native)
    from netloom.report.compare.chips.ceiling_text import ceiling_text  # noqa: PLC0415
    from netloom.study.compare.chips.ceiling import ceiling as ceiling_of  # noqa: PLC0415

    with reporting("finding the ceiling") as told:
        found = ceiling_of(
            scenario, catalog, chips=names, engine=engine, seed=seed, on_progress=told
        )
    return show(found, output, lambda: ceiling_text(found), page=lambda: ceiling_page(found))
