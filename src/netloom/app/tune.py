"""Search for settings on the cores of this machine or a Dask cluster, and write them out."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from netloom.app.sweep.run import runner_for
from netloom.results.store import AnswerStore
from netloom.study.inputs import catalog_of
from netloom.study.sweep.drive import drive
from netloom.study.sweep.task import Done, do
from netloom.study.tune.jobs.tuning import TunedJobs, tune_jobs
from netloom.study.tune.measure import measured
from netloom.study.tune.plan import planned_trials
from netloom.study.tune.result import TunedSettings
from netloom.study.tune.stages.measure import measured_stages
from netloom.study.tune.stages.tuning import StagedSettings, stages_with
from netloom.study.tune.tuning import TuneRequest, tune_with

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.sweep.question import SweepRequest
    from netloom.study.sweep.task import Task, TaskRunner
    from netloom.study.tune.plan import TrialRequest
    from netloom.study.tune.tuning import Ask

__all__ = ["AnyTuned", "asking", "tune"]

AnyTuned: TypeAlias = TunedSettings | StagedSettings | TunedJobs

# Published settings that are run besides: for the progress bar alone.
_PRESETS: Final = 6


def tune(  # noqa: PLR0913  (a facade: what the command line takes)
    scenario: Scenario,
    *,
    request: TuneRequest | None = None,
    stages: bool = False,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    on_progress: OnProgress | None = None,
) -> AnyTuned:
    """Return the best settings of a scenario's switches and NICs, and how sure their gain is.

    Of a scenario with several jobs, their start offsets and priorities; with *stages*, the service
    levels of a job's classes.

    >>> import netloom as nl
    >>> nl.tune("incast.yaml", store="tune.db").verdict  # doctest: +SKIP

    Args:
        scenario: A cluster with pauses (PFC), and its traffic or its job.
        request: How to search; default: the p99 of flow completion times in 60 trials.
        stages: Whether to order the classes of a job's step.
        store: The file that keeps every trial; what it has is not run again.
        workers: Processes; 1 runs all in this one; default: as many as cores.
        dask: The address of a Dask scheduler, or ``local``; default: processes of our own.
        on_progress: Told how many simulations are done, and about how many there are.

    Raises:
        NetloomError: there is nothing to tune, or the scenario cannot be run as it is.
    """
    asked, catalog = request or TuneRequest(), catalog_of(scenario)
    if scenario.jobs is not None and not stages:
        return tune_jobs(scenario, catalog, asked)
    run, name = (measured_stages, "tune stages") if stages else (measured, "tune")
    told = _told(on_progress, asked)
    with asking(store=store, workers=workers, dask=dask, ask=run, name=name, advance=told) as ask:
        if stages:
            return stages_with(scenario, catalog, ask, asked)
        return tune_with(scenario, catalog, ask, asked)


def _told(on_progress: OnProgress | None, request: TuneRequest) -> Callable[[int], None]:
    expected = request.budget * request.search_seeds + (_PRESETS + 2) * request.verdict_seeds
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if on_progress is not None:
            on_progress(min(done, expected), expected)

    return advance


@contextmanager
def asking(
    *,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    ask: Callable[[SweepRequest], dict[str, Any]] = measured,
    name: str = "tune",
    advance: Callable[[int], object] = lambda _count: None,
) -> Iterator[Ask]:
    """Give what runs trials: from the store, or by processes that stay until the end.

    Args:
        store: The file that keeps answers; default: one that goes away.
        workers: Processes; 1 for this one alone.
        dask: A Dask scheduler in their place.
        ask: What answers a trial; default: a simulation with an objective.
        name: Of the question, in stores.
        advance: Told how many are settled, as they are.
    """
    with ExitStack() as stack:
        if store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="netloom-tune-"))
            store = Path(folder) / "trials.db"
        runner = (
            _Here() if workers == 1 and dask is None else runner_for(workers=workers, dask=dask)
        )
        held = stack.enter_context(_Held(runner))
        kept = stack.enter_context(AnswerStore(store))

        def asked(requests: Sequence[TrialRequest]) -> list[Mapping[str, Any]]:
            plan = planned_trials(requests, ask=ask, name=name)
            found = drive(plan, store=kept, runner=held, advance=advance)
            answers = (found[point.key] for point in plan.points)
            return [
                {"error": one.error} if one.text is None else json.loads(one.text)
                for one in answers
            ]

        yield asked


@dataclass(slots=True)
class _Held:
    """A runner that outlives the plans it is used for: workers keep what they have loaded."""

    runner: TaskRunner
    depth: int = 0

    @property
    def num_slots(self) -> int:
        return self.runner.num_slots

    def submit(self, task: Task) -> None:
        self.runner.submit(task)

    def wait(self, timeout_s: float | None) -> Sequence[Done]:
        return self.runner.wait(timeout_s)

    def __enter__(self) -> Self:
        if self.depth == 0:
            self.runner.__enter__()
        self.depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.runner.__exit__(kind, error, trace)


class _Here:
    """Does tasks in this process, one at a time."""

    def __init__(self) -> None:
        self._done: list[Done] = []

    @property
    def num_slots(self) -> int:
        return 1

    def submit(self, task: Task) -> None:
        self._done.append(do(task))

    def wait(self, timeout_s: float | None) -> Sequence[Done]:
        del timeout_s
        done, self._done = self._done, []
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None
