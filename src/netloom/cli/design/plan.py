"""``netloom plan``."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.study.plan.machines import PlanLimits, Wanted
    from netloom.study.plan.planning import Each, PlanQuestion
    from netloom.study.plan.resume import Key
    from netloom.study.plan.search import Piece
    from netloom.units import Dimension

from netloom.cli.arguments import OptionalWhole, technologies_of, words_of

__all__ = ["plan"]

Number = TypeVar("Number", int, float)

# Fewer configurations are searched in less time than processes take to start.
WORTH_SPREADING: Final = 50_000
MAX_WORKERS: Final = 1024
MAX_RESUME_BYTES: Final = 1 << 30
# A search on disk is not written more often than this.
WRITE_EVERY_S: Final = 2.0


def plan(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    objective: Literal["time", "cost", "energy"] = "time",
    gpus: str | None = None,
    technologies: str | None = None,
    topologies: str | None = None,
    oversubscriptions: str | None = None,
    memory: str | None = None,
    budget: str | None = None,
    power: str | None = None,
    exhaustive: bool = False,
    resume: Path | None = None,
    workers: OptionalWhole = None,
    own: Path | None = None,
    json: bool = False,
    report: Path | None = None,
) -> None:
    """Find the best parallelism for a job, and on request the best cluster.

    Ctrl-C ends the search and prints the best so far.

    Args:
        scenario: A scenario file; without, the built-in example: Llama 3.1 405B on 16,384 H100.
        objective: What to make small: the step time, or cost or energy of a trillion tokens.
        gpus: Cluster sizes to try, separated by commas, instead of the scenario's own; 256-1024
            stands for all between whose nodes have no prime factor over 3.
        technologies: Technologies to try, likewise.
        topologies: Kinds of topology to try, likewise.
        oversubscriptions: At the leaves, to try with each topology that has leaves.
        memory: Of a GPU, such as 70GB, in place of all it has.
        budget: For nodes and network together, such as 40MUSD.
        power: Of nodes and network together, such as 1.5MW.
        exhaustive: Predict every combination by itself: slow, to check the search.
        resume: Keep the search in this file, and go on where it stopped.
        workers: Processes to search with; as many as there are cores without. The answer is the
            same.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
        report: Write a self-contained HTML page to this file.
    """
    # Imported here: the help of the command needs none of it.
    from time import perf_counter  # noqa: PLC0415

    from netloom.cli.output import emit_json, write_atomically  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.plan.planning import plan as search  # noqa: PLC0415
    from netloom.study.plan.planning import question  # noqa: PLC0415

    started_s = perf_counter()
    with scenario_at(scenario) as given:
        catalog = catalog_of(given, own)
        asked = question(
            given,
            catalog,
            objective=objective,
            wanted=_wanted(
                gpus, technologies_of(technologies, catalog), topologies, oversubscriptions
            ),
            limits=_limits(memory, budget, power),
            exhaustive=exhaustive,
        )
        known = {} if resume is None else _known(resume, asked)
        with _spread(asked, workers) as each, _watch(asked, resume) as after:
            found = search(asked, known=known, after=after, each=each)
    wall_s = perf_counter() - started_s
    if report is not None:
        from netloom.report.plan.page import plan_page  # noqa: PLC0415

        write_atomically(report, plan_page(found))
    if json:
        emit_json(found.to_json() | {"wall_s": wall_s})
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.plan.text import plan_text  # noqa: PLC0415

    earlier = sum(piece.configurations for piece in known.values())
    console = Console()
    console.print(plan_text(found, wall_s=wall_s, known=earlier))
    if report is not None:
        console.print(f"\nReport: {report}", highlight=False, markup=False)


def _spread(asked: PlanQuestion, workers: int | None) -> AbstractContextManager[Each]:
    """Give what runs the tasks of *asked*: processes, where there is enough for them to do."""
    from functools import partial  # noqa: PLC0415

    from netloom.drivers.cores import num_cores, on_processes  # noqa: PLC0415
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.study.plan.planning import searcher  # noqa: PLC0415

    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        message = f"--workers: {workers} is not a number of processes; give 1 to {MAX_WORKERS}"
        raise SpecError(message)
    enough = asked.exhaustive or asked.size >= WORTH_SPREADING
    num_workers = workers or (num_cores() if enough else 1)
    num_workers = min(num_workers, len(asked.keys))
    return on_processes(partial(searcher, asked), num_workers=num_workers)


def _wanted(
    gpus: str | None,
    technologies: tuple[str, ...],
    topologies: str | None,
    oversubscriptions: str | None,
) -> Wanted:
    from netloom.errors import SpecError  # noqa: PLC0415
    from netloom.spec.topology import TOPOLOGIES  # noqa: PLC0415
    from netloom.study.plan.machines import Wanted  # noqa: PLC0415

    sizes = words_of(gpus, option="--gpus")
    kinds = words_of(topologies, option="--topologies")
    for kind in kinds:
        if kind not in TOPOLOGIES:
            message = f"--topologies: {kind!r} is not one; use {', '.join(TOPOLOGIES)}"
            raise SpecError(message)
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


def _range(word: str) -> tuple[int, int]:
    low, _, high = word.partition("-")
    return _number("--gpus", low, int), _number("--gpus", high, int)


def _number(option: str, word: str, kind: Callable[[str], Number]) -> Number:
    from netloom.errors import SpecError  # noqa: PLC0415

    try:
        return kind(word)
    except ValueError as error:
        message = f"{option}: {word[:40]!r} is not a number; write numbers separated by commas"
        raise SpecError(message) from error


def _limits(memory: str | None, budget: str | None, power: str | None) -> PlanLimits:
    from netloom.study.plan.machines import PlanLimits  # noqa: PLC0415
    from netloom.units import MONEY, POWER, SIZE, parse_quantity  # noqa: PLC0415

    def limit(text: str | None, dimension: Dimension, where: str) -> float | None:
        return None if text is None else parse_quantity(text, dimension, where=where)

    return PlanLimits(
        memory_bytes=limit(memory, SIZE, "--memory"),
        budget_usd=limit(budget, MONEY, "--budget"),
        power_w=limit(power, POWER, "--power"),
    )


def _known(path: Path, asked: PlanQuestion) -> dict[Key, Piece]:
    from netloom.errors import at  # noqa: PLC0415
    from netloom.spec.files import read_text  # noqa: PLC0415
    from netloom.study.plan.resume import from_text  # noqa: PLC0415

    if not path.exists():
        return {}
    with at("--resume"):
        text = read_text(path, max_bytes=MAX_RESUME_BYTES, wanted="a file that it wrote")
        return from_text(text, asked=asked.fingerprint, where=str(path))


@contextmanager
def _watch(
    asked: PlanQuestion, resume: Path | None
) -> Iterator[Callable[[dict[Key, Piece], int], None]]:
    """Give what is to be called after each piece: it moves the bar and writes the file."""
    from time import perf_counter  # noqa: PLC0415

    from netloom.cli.output import write_atomically  # noqa: PLC0415
    from netloom.cli.progress import progress  # noqa: PLC0415
    from netloom.study.plan.resume import to_text  # noqa: PLC0415

    done: dict[Key, Piece] = {}
    written_s = perf_counter()

    def write() -> None:
        if resume is not None and done:
            write_atomically(resume, to_text(done, asked=asked.fingerprint))

    with progress("searching configurations", asked.size) as advance:

        def after(pieces: dict[Key, Piece], num_configurations: int) -> None:
            nonlocal written_s
            advance(num_configurations)
            done.update(pieces)
            if perf_counter() - written_s > WRITE_EVERY_S:
                write()
                written_s = perf_counter()

        try:
            yield after
        finally:
            write()
