"""Run a sweep on this machine or on a Dask cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from netloom.drivers.cores import num_cores
from netloom.drivers.processes import Processes
from netloom.errors import SpecError
from netloom.results.progress import counter
from netloom.results.store import AnswerStore
from netloom.study.sweep.drive import drive
from netloom.study.sweep.plan import plan_sweep
from netloom.study.sweep.questions import QUESTIONS
from netloom.study.sweep.result import Sweep, gathered

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from netloom.results.progress import OnProgress
    from netloom.study.sweep.plan import SweepPlan
    from netloom.study.sweep.question import SweepQuestion
    from netloom.study.sweep.task import TaskRunner

__all__ = ["DEFAULT_STORE", "run_plan", "runner_for", "sweep"]

DEFAULT_STORE: Final = "netloom-sweep.db"


def sweep(
    source: str | os.PathLike[str] | Mapping[str, object],
    *,
    store: str | os.PathLike[str] = DEFAULT_STORE,
    workers: int | None = None,
    dask: str | None = None,
    questions: Mapping[str, SweepQuestion] = QUESTIONS,
    on_progress: OnProgress | None = None,
) -> Sweep:
    """Return the answers to every point of a sweep.

    >>> import netloom as nl
    >>> nl.sweep("sweep.yaml", store="answers.db").table()  # doctest: +SKIP

    Args:
        source: A sweep file (docs/models/sweep.md), or the same as a dict.
        store: The file that keeps answers; what it has is not computed again.
        workers: Processes to compute in; default: as many as cores.
        dask: The address of a Dask scheduler, or ``local``; default: processes of our own.
        questions: What can be asked.
        on_progress: Told how many different points are settled, and how many there are.

    Raises:
        NetloomError: the sweep is wrong, before anything runs; or the store or the cluster
            cannot be used. A point that fails is no exception but a value.
    """
    plan = plan_sweep(source, questions=questions)
    runner = runner_for(workers=workers, dask=dask)
    return run_plan(plan, store=store, runner=runner, on_progress=on_progress)


def runner_for(*, workers: int | None = None, dask: str | None = None) -> TaskRunner:
    """Return what computes: processes of this machine, or a Dask cluster.

    Raises:
        SpecError: the number of workers is no such number, or belongs to a cluster that is not
            ours to size; or Dask is not installed.
    """
    if workers is not None and workers < 1:
        raise SpecError(
            key="workers", what=f"{workers} is too small", remedy="give at least 1, or leave it out"
        )
    if dask is None:
        return Processes(workers)
    from netloom.drivers.dask import LOCAL, Dask  # noqa: PLC0415  (needs the extra)

    if dask != LOCAL and workers is not None:
        raise SpecError(
            key="workers", what=f"the cluster at {dask} has its own", remedy="leave it out"
        )
    return Dask(dask, num_workers=workers or num_cores())


def run_plan(
    plan: SweepPlan,
    *,
    store: str | os.PathLike[str],
    runner: TaskRunner,
    on_progress: OnProgress | None = None,
) -> Sweep:
    """Return the answers to a checked sweep; *on_progress* is called as they come."""
    begin_s = time.perf_counter()
    advance = counter(on_progress, len({point.key for point in plan.points}))
    with AnswerStore(store) as kept:
        found = drive(plan, store=kept, runner=runner, advance=advance)
    return gathered(plan, found, wall_s=time.perf_counter() - begin_s)
