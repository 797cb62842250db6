"""The best way to run a job: search every way to divide it, on one machine or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeAlias

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import CatalogError, InfeasibleError
from netloom.spec.software import Software
from netloom.step.efficiency import highest_of, validity_besides_mfu
from netloom.step.predict import predict
from netloom.step.software import practice_named
from netloom.study.inputs import catalog_of, model_of
from netloom.study.plan.exhaustive import search_piece_singly
from netloom.study.plan.machines import CandidateCluster, PlanLimits, Wanted, machines
from netloom.study.plan.result import Plan, PlannedConfiguration, front
from netloom.study.plan.resume import Key, fingerprint
from netloom.study.plan.search import NUM_BEST, Piece, search_piece
from netloom.study.plan.space import Space
from netloom.study.plan.tables import CostTables
from netloom.workload.flops import step_flops
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Job, Scenario
    from netloom.study.plan.result import Objective
    from netloom.study.plan.search import TimedConfiguration
    from netloom.study.plan.space import Standing

__all__ = ["Each", "PlanQuestion", "Task", "plan", "question", "searcher"]

# What is searched at a stretch.
Task: TypeAlias = tuple[Key, ...]
Each: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[Task, list[Piece]]]]
# With more machines than this, each is searched at a stretch, so that its collectives are asked
# for once; with fewer, pieces are, so that all workers have some.
FEW_MACHINES: Final = 8
# How far the search and the single prediction may differ; both run the same lines.
AGREEMENT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """What is searched, and for what."""

    scenario: Scenario
    objective: Objective
    machines: tuple[CandidateCluster, ...]
    spaces: tuple[Space, ...]
    left_out: dict[str, str]
    exhaustive: bool

    @property
    def keys(self) -> list[tuple[int, int]]:
        """The pieces: machine and number of stages."""
        return [
            (index, pipeline)
            for index, space in enumerate(self.spaces)
            for pipeline in space.pipelines()
        ]

    @property
    def size(self) -> int:
        """Configurations in all."""
        return sum(space.size() for space in self.spaces)

    @property
    def fingerprint(self) -> str:
        """A name for all that the answer depends on, the version of netloom included."""
        return fingerprint(version("netloom"), self.spaces, self.exhaustive)


def question(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    objective: Objective = "time",
    wanted: Wanted | None = None,
    limits: PlanLimits | None = None,
    exhaustive: bool = False,
) -> PlanQuestion:
    """Return what a search of *scenario* goes through.

    Args:
        scenario: Cluster and job; its parallelism is not looked at but for the schedule, nor
            are its micro-batch and recomputation.
        catalog: The parts; default: the shipped ones and the scenario's own.
        objective: What to make small.
        wanted: Machines and software to try; default: the scenario's own.
        limits: What may not be exceeded.
        exhaustive: Predict every combination by itself.

    Raises:
        NetloomError: a part is unknown, or no machine is within the limits.
    """
    parts = catalog or catalog_of(scenario)
    model = model_of(scenario, parts)
    found, left_out = machines(
        scenario, parts, wanted=wanted or Wanted(), limits=limits or PlanLimits()
    )
    if objective == "cost" and any(one.capex_usd is None for one in found):
        raise CatalogError(
            what=f"{scenario.cluster.node} has no price",
            remedy=(
                "add one in a catalogue file of your own: "
                f'[nodes.{scenario.cluster.node}] price = "300000USD"'
            ),
        )
    tried = [
        (replace(one, software=name), job)
        for name, job in _jobs(scenario.job, wanted)
        for one in found
    ]
    return PlanQuestion(
        scenario=scenario,
        objective=objective,
        machines=tuple(one for one, _ in tried),
        spaces=tuple(Space(job=job, model=model, network=one.network) for one, job in tried),
        left_out=left_out,
        exhaustive=exhaustive,
    )


def _jobs(job: Job, wanted: Wanted | None) -> Iterator[tuple[str, Job]]:
    """Yield the job with each software to try; its own switches stay with its own software.

    Raises:
        SpecError: one is not known.
    """
    if wanted is None or not wanted.software:
        yield "", job
        return
    for name in wanted.software:
        practice_named(name)
        own = name == job.software.name
        software = job.software if own else Software(name=name)
        yield name, job.model_copy(update={"software": software})


def searcher(asked: PlanQuestion) -> Callable[[Task], list[Piece]]:
    """Return what searches a task of *asked*; it remembers what tasks share."""
    search = search_piece_singly if asked.exhaustive else search_piece
    first: dict[Software, CostTables] = {}
    latest: dict[int, CostTables] = {}

    def on(machine: int) -> CostTables:
        if machine not in latest:
            latest.clear()
            space = asked.spaces[machine]
            software = space.job.software
            if software not in first:
                first[software] = CostTables.of(space, AnalyticEngine())
            latest[machine] = first[software].on(space)
        return latest[machine]

    def work(task: Task) -> list[Piece]:
        return [search(on(machine), pipeline, machine=machine) for machine, pipeline in task]

    return work


def plan(
    asked: PlanQuestion,
    *,
    known: dict[Key, Piece] | None = None,
    after: Callable[[dict[Key, Piece], int], None] | None = None,
    each: Each | None = None,
) -> Plan:
    """Return the best configurations of *asked*.

    An interruption (Ctrl-C) ends the search early; what was found by then is returned.

    Args:
        asked: What to search.
        known: Pieces of an earlier search of the same question, which are not searched again.
        after: Called after each task with all pieces that are done and the configurations it held.
        each: Yields tasks with what :func:`searcher` finds, in any order: on several processes,
            say. One after another without.

    Raises:
        InfeasibleError: nothing fits.
    """
    pieces = dict(known or {})
    complete = True
    try:
        _search(asked, pieces, after, each or _in_turn(asked))
    except KeyboardInterrupt:
        complete = False
        if not any(piece.candidates for piece in pieces.values()):
            raise
    in_order = {key: pieces[key] for key in asked.keys if key in pieces}
    return _plan(asked, in_order, complete=complete)


def _in_turn(asked: PlanQuestion) -> Each:
    work = searcher(asked)
    return lambda tasks: ((task, work(task)) for task in tasks)


def _search(
    asked: PlanQuestion,
    pieces: dict[Key, Piece],
    after: Callable[[dict[Key, Piece], int], None] | None,
    each: Each,
) -> None:
    def tell(keys: Iterable[Key]) -> None:
        if after is not None:
            after(pieces, sum(asked.spaces[machine].size_of(p) for machine, p in keys))

    if pieces:
        tell(pieces)
    for task, found in each(_tasks(asked, pieces)):
        pieces.update(zip(task, found, strict=True))
        tell(task)


def _tasks(asked: PlanQuestion, known: dict[Key, Piece]) -> list[Task]:
    """Return what is left to do, machine by machine, the largest pieces of each first."""
    tasks: list[Task] = []
    for index, space in enumerate(asked.spaces):
        left = [(index, p) for p in space.pipelines() if (index, p) not in known]
        left.sort(key=lambda key: -asked.spaces[key[0]].size_of(key[1]))
        if len(asked.spaces) > FEW_MACHINES:
            tasks += [tuple(left)] if left else []
        else:
            tasks += [(key,) for key in left]
    return tasks


# Nine in ten steps inside the range are closer than this (netloom validate steps, p90 of the first
# group 8.3 %).
MARGIN: Final = 0.1


def _plan(asked: PlanQuestion, pieces: dict[Key, Piece], *, complete: bool) -> Plan:
    candidates = [_judged(asked, one) for piece in pieces.values() for one in piece.candidates]
    if not candidates:
        raise InfeasibleError(
            key="job",
            what=(
                f"{asked.scenario.job.model} fits in no configuration of "
                f"{', '.join(one.name for one in asked.machines)}"
            ),
            remedy="use more GPUs or GPUs of more memory",
        )
    likely = _ranked(asked, candidates, "inside", "above")
    outside = _ranked(asked, candidates, "outside")
    seen_before = [one for one in outside if _is_reached(asked, one)]
    if _is_far_better(asked, seen_before, likely):
        likely = _ranked(asked, (*likely, *seen_before), "inside", "above", "outside")
    best = (likely or outside)[:NUM_BEST]
    here = [one for one in likely if one.configuration.machine == best[0].configuration.machine]
    within = [one for one in here if one.standing == "inside"]
    at_best = [_choice(asked, one) for one in _best_of_each(likely, outside)]
    of_likely = [one for one in at_best if one.standing != "outside"]
    return Plan(
        scenario=asked.scenario,
        objective=asked.objective,
        configurations=sum(piece.configurations for piece in pieces.values()),
        feasible=sum(piece.feasible for piece in pieces.values()),
        complete=complete,
        best=tuple(_choice(asked, one) for one in best),
        within=_choice(asked, within[0]) if within and best[0].standing == "above" else None,
        outside=next((_choice(asked, one) for one in _beating(asked, outside, best[0])), None),
        pareto=front(of_likely or at_best),
        machines=tuple(at_best),
        left_out=asked.left_out,
    )


def _judged(asked: PlanQuestion, one: TimedConfiguration) -> TimedConfiguration:
    """Return *one* outside the checked range where its machine is."""
    inside = asked.machines[one.configuration.machine].validity.inside
    return one if inside else replace(one, standing="outside")


def _ranked(
    asked: PlanQuestion, candidates: Iterable[TimedConfiguration], *standings: Standing
) -> list[TimedConfiguration]:
    chosen = [one for one in candidates if one.standing in standings]
    return sorted(chosen, key=lambda one: (_value(asked, one), *one.order))


def _is_reached(asked: PlanQuestion, one: TimedConfiguration) -> bool:
    """Whether some published step on such GPUs had the share of peak that *one* would have."""
    space = asked.spaces[one.configuration.machine]
    gpu, training = space.network.gpu, space.job.trained
    highest, peak = highest_of(gpu, training.precision), gpu.peak.at(training.precision)
    if highest is None or peak is None:
        return True
    needed, _ = step_flops(transformer(space.model), training)
    return needed / (space.num_gpus * one.duration_s * peak) <= highest.mfu


def _is_far_better(
    asked: PlanQuestion, some: Sequence[TimedConfiguration], others: Sequence[TimedConfiguration]
) -> bool:
    """Whether the best of *some* is better than that of *others* by more than steps are off by."""
    if not some or not others:
        return False
    return _value(asked, some[0]) < (1 - MARGIN) * _value(asked, others[0])


def _beating(
    asked: PlanQuestion, ranked: Sequence[TimedConfiguration], best: TimedConfiguration
) -> list[TimedConfiguration]:
    return [one for one in ranked[:1] if _value(asked, one) < _value(asked, best)]


def _value(asked: PlanQuestion, one: TimedConfiguration) -> float:
    """Return what is to be made small."""
    machine, training = asked.machines[one.configuration.machine], asked.scenario.job.trained
    tokens_per_s = training.global_batch * training.sequence / one.duration_s
    match asked.objective:
        case "time":
            return one.duration_s
        case "cost":
            usd = machine.usd_per_trillion_tokens(tokens_per_s)
            assert usd is not None, machine.name  # question() has refused it
            return usd
        case "energy":
            return machine.kwh_per_trillion_tokens(tokens_per_s)


def _choice(asked: PlanQuestion, one: TimedConfiguration) -> PlannedConfiguration:
    space = asked.spaces[one.configuration.machine]
    work = one.configuration.job(space.job)
    step = predict(work, model=space.model, network=space.network, engine=AnalyticEngine())
    assert abs(step.duration_s / one.duration_s - 1) < AGREEMENT, one
    machine = asked.machines[one.configuration.machine]
    besides = validity_besides_mfu(step, space.network.gpu, work.trained.precision)
    known = besides & machine.validity
    assert known.inside == (one.standing != "outside"), one
    return PlannedConfiguration(
        configuration=one.configuration,
        machine=machine,
        step=step,
        standing=one.standing,
        validity=step.validity & machine.validity,
    )


def _best_of_each(*ranked: Sequence[TimedConfiguration]) -> list[TimedConfiguration]:
    """Return each machine's best, of the first list that has one.

    On one machine cost and time are proportional, so that its other configurations are beaten in
    both.
    """
    found: dict[int, TimedConfiguration] = {}
    for one in (one for group in ranked for one in group):
        found.setdefault(one.configuration.machine, one)
    return [found[index] for index in sorted(found)]
