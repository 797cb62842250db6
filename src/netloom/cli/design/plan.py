"""``netloom plan``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from netloom.app.plan import plan as plan_job
from netloom.cli.arguments import OptionalWhole, technologies_of, words_of
from netloom.cli.options import OwnParts, PageOutput
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.spec.software import PRACTICES
from netloom.spec.topology import TOPOLOGIES
from netloom.study.inputs import catalog_of
from netloom.study.plan.machines import PlanLimits, Wanted
from netloom.units import MONEY, POWER, SIZE, Dimension, parse_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["plan"]

Number = TypeVar("Number", int, float)
SEARCH: Final = "search"


def plan(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    objective: Literal["time", "cost", "energy"] = "time",
    gpus: str | None = None,
    technologies: str | None = None,
    topologies: str | None = None,
    oversubscriptions: str | None = None,
    software: str | None = None,
    memory: str | None = None,
    budget: str | None = None,
    power: str | None = None,
    exhaustive: bool = False,
    resume: Path | None = None,
    workers: OptionalWhole = None,
    own: OwnParts = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Find the best parallelism for a job, and on request the best cluster.

    Ctrl-C ends the search and prints the best so far.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
        objective: What to make small: the step time, or cost or energy of a trillion tokens.
        gpus: Cluster sizes to try, separated by commas, instead of the scenario's own; 256-1024
            stands for all between whose nodes have no prime factor over 3.
        technologies: Technologies to try, likewise.
        topologies: Kinds of topology to try, likewise; or search, which proposes rail-only,
            multi-plane, tapered and hybrid ones for the job as it is divided, each built, costed
            and simulated with failures, beside a fat tree of equal cost.
        oversubscriptions: At the leaves, to try with each topology that has leaves.
        software: Training software to try, by name, such as nemo,torchtitan; default: the
            scenario's own.
        memory: Of a GPU, such as 70GB, in place of all it has.
        budget: For nodes and network together, such as 40MUSD.
        power: Of nodes and network together, such as 1.5MW.
        exhaustive: Predict every combination by itself: slow, to check the search.
        resume: Keep the search in this file, and go on where it stopped.
        workers: Processes to search with; default: as many as cores. The answer is the same.
    """
    if topologies == SEARCH:
        unused = {
            "--gpus": gpus,
            "--technologies": technologies,
            "--oversubscriptions": oversubscriptions,
            "--software": software,
            "--memory": memory,
            "--resume": resume,
        }
        _refuse([option for option, value in unused.items() if value is not None])
        return _search(scenario, own, _limits(None, budget, power), output)
    started_s = perf_counter()
    with scenario_at(scenario) as given:
        catalog = catalog_of(given, own)
        named = technologies_of(technologies, catalog)
        with reporting("searching configurations") as told:
            found = plan_job(
                given,
                catalog,
                objective=objective,
                wanted=replace(
                    _wanted(gpus, named, topologies, oversubscriptions),
                    software=_software(software),
                ),
                limits=_limits(memory, budget, power),
                exhaustive=exhaustive,
                resume=resume,
                workers=workers,
                on_progress=told,
            )
    wall_s = perf_counter() - started_s

    def text() -> RenderableType:
        from netloom.report.plan.text import plan_text  # noqa: PLC0415  (rich)

        return plan_text(found, wall_s=wall_s, known=found.resumed)

    def page() -> str:
        from netloom.report.plan.page import plan_page  # noqa: PLC0415  (jinja2)

        return plan_page(found)

    return show(found, output, text, page=page, more={"wall_s": wall_s})


def _refuse(options: list[str]) -> None:
    """Refuse options that a search of topologies takes no notice of."""
    if options:
        raise SpecError(
            option=options[0],
            what="--topologies search keeps the scenario's machines, technology and job",
            remedy="leave it out, or change the scenario",
        )


def _search(scenario: Path | None, own: Path | None, limits: PlanLimits, output: PageOutput) -> int:
    from netloom.report.plan.topologies import topologies_page, topologies_text  # noqa: PLC0415

    with scenario_at(scenario) as given:
        catalog = catalog_of(given, own)
        with reporting("simulating topologies") as told:
            found = plan_job(given, catalog, topologies=SEARCH, limits=limits, on_progress=told)
    return show(found, output, lambda: topologies_text(found), page=lambda: topologies_page(found))


def _wanted(
    gpus: str | None,
    technologies: tuple[str, ...],
    topologies: str | None,
    oversubscriptions: str | None,
) -> Wanted:
    sizes = words_of(gpus, option="--gpus")
    kinds = words_of(topologies, option="--topologies")
    for kind in kinds:
        if kind not in TOPOLOGIES:
            raise SpecError(
                option="--topologies",
                what=f"{kind!r} is not one",
                remedy=f"use {', '.join(TOPOLOGIES)}",
            )
    return Wanted(
        gpus=tuple(_number("--gpus", word, int) for word in sizes if "-" not in word),
        gpu_ranges=tuple(_range(word) for word in sizes if "-" in word),
        technologies=technologies,
        topologies=kinds,
        oversubscriptions=tuple(
            _number("--oversubscriptions", word, float)
            for word in words_of(oversubscriptions, option="--oversubscriptions")
        ),
    )


def _software(names: str | None) -> tuple[str, ...]:
    found = words_of(names, option="--software")
    for name in found:
        if name not in PRACTICES:
            raise SpecError(
                option="--software", what=f"{name!r} is not known", remedy=PRACTICES.hint(name)
            )
    return found


def _range(word: str) -> tuple[int, int]:
    low, _, high = word.partition("-")
    return _number("--gpus", low, int), _number("--gpus", high, int)


def _number(option: str, word: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(word)
    except ValueError as error:
        raise SpecError(
            option=option,
            what=f"{word[:40]!r} is not a number",
            remedy="write numbers separated by commas",
        ) from error


def _limits(memory: str | None, budget: str | None, power: str | None) -> PlanLimits:
    def limit(text: str | None, dimension: Dimension, where: str) -> float | None:
        return None if text is None else parse_quantity(text, dimension, where=where)

    return PlanLimits(
        memory_bytes=limit(memory, SIZE, "--memory"),
        budget_usd=limit(budget, MONEY, "--budget"),
        power_w=limit(power, POWER, "--power"),
    )
