"""The search of a plan on the cores of this machine, kept in a file where one is named."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final, Literal, overload

from netloom.drivers.cores import num_cores, on_processes
from netloom.errors import SpecError, at
from netloom.results.progress import counter
from netloom.results.write import write_atomically
from netloom.spec.files import read_text
from netloom.study.plan import planning
from netloom.study.plan.planning import question, searcher
from netloom.study.plan.resume import from_text, to_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.plan.machines import PlanLimits, Wanted
    from netloom.study.plan.planning import Each, PlanQuestion
    from netloom.study.plan.result import Objective, Plan
    from netloom.study.plan.resume import Key
    from netloom.study.plan.search import Piece
    from netloom.study.plan.topologies import TopologySearch

__all__ = ["plan"]

# Fewer configurations are searched in less time than processes take to start.
WORTH_SPREADING: Final = 50_000
MAX_WORKERS: Final = 1024
MAX_RESUME_BYTES: Final = 1 << 30
# A search on disk is not written more often than this.
WRITE_EVERY_S: Final = 2.0


@overload
def plan(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    topologies: None = None,
    objective: Objective = "time",
    wanted: Wanted | None = None,
    limits: PlanLimits | None = None,
    exhaustive: bool = False,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Plan: ...


@overload
def plan(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    topologies: Literal["search"],
    limits: PlanLimits | None = None,
    on_progress: OnProgress | None = None,
) -> TopologySearch: ...


def plan(  # noqa: PLR0913  (a facade: what the command line takes)
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    topologies: Literal["search"] | None = None,
    objective: Objective = "time",
    wanted: Wanted | None = None,
    limits: PlanLimits | None = None,
    exhaustive: bool = False,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Plan | TopologySearch:
    """Return the best ways to divide a job, and on request the best cluster for it.

    Ctrl-C ends the search; what was found by then is returned.

    >>> import netloom as nl
    >>> found = nl.plan(nl.example("gpt3-175b-1k"), objective="cost")  # doctest: +SKIP
    >>> found.best[0].step.duration_s  # doctest: +SKIP

    Args:
        scenario: Cluster and job; its parallelism is what is searched.
        catalog: The parts; default: the shipped ones and the scenario's own.
        topologies: ``search`` proposes topologies for the job as it is divided, builds, costs and
            simulates each with failures, and looks at *limits* alone.
        objective: What to make small: ``time``, or ``cost`` or ``energy`` of a trillion tokens.
        wanted: Machines to try; default: the scenario's own.
        limits: Of memory, budget and power.
        exhaustive: Predict every combination by itself: slow, to check the search.
        resume: Keep the search in this file, and go on where it stopped.
        workers: Processes; default: as many as cores where the search is large. The answer is
            the same.
        on_progress: Told how many configurations are done, and how many there are.

    Raises:
        NetloomError: a part is unknown, nothing fits, or no machine is within the limits.
    """
    if topologies is not None:
        from netloom.study.plan.topologies import search_topologies  # noqa: PLC0415  (native)

        return search_topologies(scenario, catalog, limits=limits, on_progress=on_progress)
    asked = question(
        scenario,
        catalog,
        objective=objective,
        wanted=wanted,
        limits=limits,
        exhaustive=exhaustive,
    )
    file = None if resume is None else Path(resume)
    known = {} if file is None else _known(file, asked)
    with _spread(asked, workers) as each, _keeping(asked, file, on_progress) as after:
        found = planning.plan(asked, known=known, after=after, each=each)
    return replace(found, resumed=sum(piece.configurations for piece in known.values()))


def _spread(asked: PlanQuestion, workers: int | None) -> AbstractContextManager[Each]:
    """Give what runs the tasks of *asked*: processes, where there is enough for them to do."""
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise SpecError(
            option="--workers",
            what=f"{workers} is not a number of processes",
            remedy=f"give 1 to {MAX_WORKERS}",
        )
    enough = asked.exhaustive or asked.size >= WORTH_SPREADING
    num_workers = min(workers or (num_cores() if enough else 1), len(asked.keys))
    return on_processes(partial(searcher, asked), num_workers=num_workers)


def _known(path: Path, asked: PlanQuestion) -> dict[Key, Piece]:
    if not path.exists():
        return {}
    with at("--resume"):
        text = read_text(path, max_bytes=MAX_RESUME_BYTES, wanted="a file that it wrote")
        return from_text(text, asked=asked.fingerprint, where=str(path))


@contextmanager
def _keeping(
    asked: PlanQuestion, resume: Path | None, on_progress: OnProgress | None
) -> Iterator[Callable[[dict[Key, Piece], int], None]]:
    """Give what is to be called after each piece: it tells how far it is, and writes the file."""
    done: dict[Key, Piece] = {}
    written_s = perf_counter()
    advance = counter(on_progress, asked.size)

    def write() -> None:
        if resume is not None and done:
            write_atomically(resume, to_text(done, asked=asked.fingerprint))

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
