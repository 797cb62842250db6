"""The best way to run a job: search every way to divide it, on one machine or several."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import CatalogError, InfeasibleError
from netloom.step.predict import predict
from netloom.study.plan_exhaustive import search_piece_singly
from netloom.study.plan_machines import Limits, Machine, Wanted, machines
from netloom.study.plan_resume import fingerprint
from netloom.study.plan_search import NUM_BEST, best_of, search_piece
from netloom.study.plan_space import Space
from netloom.study.plan_tables import Tables
from netloom.study.predict import catalog_of, model_of, validity_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from netloom.catalog.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step
    from netloom.study.plan_resume import Key
    from netloom.study.plan_search import Candidate, Piece
    from netloom.study.plan_space import Configuration

__all__ = ["Choice", "Objective", "Plan", "Question", "plan", "question"]

Objective: TypeAlias = Literal["time", "cost", "energy"]
# How far the search and the single prediction may differ; both run the same lines.
AGREEMENT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One configuration, predicted in full."""

    configuration: Configuration
    machine: Machine
    step: Step

    @property
    def usd_per_trillion_tokens(self) -> float | None:
        """Money for a trillion tokens; None where the node has no price."""
        return self.machine.usd_per_trillion_tokens(self.step.tokens_per_s)

    @property
    def kwh_per_trillion_tokens(self) -> float:
        """Energy of a trillion tokens."""
        return self.machine.kwh_per_trillion_tokens(self.step.tokens_per_s)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        design, own = self.machine.network.design, asdict(self.configuration)
        own.pop("machine")
        return {
            "gpus": design.num_gpus,
            "technology": self.machine.network.technology.name,
            "topology": design.topology.kind,
            "oversubscription": getattr(design.topology, "oversubscription", None),
            **own,
            "step_time_s": self.step.duration_s,
            "mfu": self.step.mfu,
            "tokens_per_s": self.step.tokens_per_s,
            "memory_bytes": self.step.memory.total_bytes,
            "usd_per_trillion_tokens": self.usd_per_trillion_tokens,
            "kwh_per_trillion_tokens": self.kwh_per_trillion_tokens,
            "capex_usd": self.machine.capex_usd,
            "power_w": self.machine.power_w,
            "breakdown_s": self.step.breakdown_s(),
            "validity": validity_json(self.step.validity),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a search found.

    Attributes:
        configurations: Looked at.
        feasible: Of these, fit in memory.
        complete: Whether all were looked at; the search may have been interrupted.
        best: The ten best inside the range that steps were checked in; where there is none, the
            ten best of all.
        outside: The best outside that range, where it would beat the best inside.
        pareto: Machines at their best, no other being both faster and cheaper; fastest first.
        left_out: Machines that cannot be built or exceed a limit, and why.
    """

    scenario: Scenario
    objective: Objective
    configurations: int
    feasible: int
    complete: bool
    best: tuple[Choice, ...]
    outside: Choice | None
    pareto: tuple[Choice, ...]
    left_out: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "objective": self.objective,
            "configurations": self.configurations,
            "feasible": self.feasible,
            "complete": self.complete,
            "best": [choice.to_json() for choice in self.best],
            "outside": None if self.outside is None else self.outside.to_json(),
            "pareto": [choice.to_json() for choice in self.pareto],
            "left_out": self.left_out,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched, and for what."""

    scenario: Scenario
    objective: Objective
    machines: tuple[Machine, ...]
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
    limits: Limits | None = None,
    exhaustive: bool = False,
) -> Question:
    """Return what a search of *scenario* goes through.

    Args:
        scenario: Cluster and job; its parallelism is not looked at but for the schedule, nor
            are its micro-batch and recomputation.
        catalog: The parts; the shipped ones and the scenario's own without.
        objective: What to make small.
        wanted: Machines to try; the scenario's own without.
        limits: What may not be exceeded.
        exhaustive: Predict every combination by itself.

    Raises:
        NetloomError: a part is unknown, or no machine is within the limits.
    """
    parts = catalog or catalog_of(scenario)
    model = model_of(scenario, parts)
    found, left_out = machines(
        scenario, parts, wanted=wanted or Wanted(), limits=limits or Limits()
    )
    if objective == "cost" and any(one.capex_usd is None for one in found):
        message = (
            f"{scenario.cluster.node} has no price; add one in a catalogue file of your own: "
            f'[nodes.{scenario.cluster.node}] price = "300000USD"'
        )
        raise CatalogError(message)
    return Question(
        scenario=scenario,
        objective=objective,
        machines=tuple(found),
        spaces=tuple(Space(job=scenario.job, model=model, network=one.network) for one in found),
        left_out=left_out,
        exhaustive=exhaustive,
    )


def plan(
    asked: Question,
    *,
    known: dict[Key, Piece] | None = None,
    after: Callable[[dict[Key, Piece], int], None] | None = None,
) -> Plan:
    """Return the best configurations of *asked*.

    An interruption (Ctrl-C) ends the search early; what was found by then is returned.

    Args:
        asked: What to search.
        known: Pieces of an earlier search of the same question, which are not searched again.
        after: Called after each piece with all that are done and the configurations it held.

    Raises:
        InfeasibleError: nothing fits.
    """
    pieces = dict(known or {})
    complete = True
    try:
        _search(asked, pieces, after)
    except KeyboardInterrupt:
        complete = False
        if not any(piece.candidates for piece in pieces.values()):
            raise
    return _plan(asked, pieces, complete=complete)


def _search(
    asked: Question,
    pieces: dict[Key, Piece],
    after: Callable[[dict[Key, Piece], int], None] | None,
) -> None:
    search = search_piece_singly if asked.exhaustive else search_piece
    first = Tables.of(asked.spaces[0], AnalyticEngine())
    for index, space in enumerate(asked.spaces):
        tables = first.on(space)
        for pipeline in space.pipelines():
            if (index, pipeline) not in pieces:
                pieces[index, pipeline] = search(tables, pipeline, machine=index)
            if after is not None:
                after(pieces, space.size_of(pipeline))


def _plan(asked: Question, pieces: dict[Key, Piece], *, complete: bool) -> Plan:
    candidates = [one for piece in pieces.values() for one in piece.candidates]
    if not candidates:
        message = (
            f"job: {asked.scenario.job.model} fits in no configuration of "
            f"{', '.join(one.name for one in asked.machines)}; use more GPUs or GPUs of more memory"
        )
        raise InfeasibleError(message)
    inside = _ranked(asked, [one for one in candidates if one.inside])
    outside = _ranked(asked, [one for one in candidates if not one.inside])
    best = inside[:NUM_BEST] or outside[:NUM_BEST]
    runner = outside[:1] if inside else []
    beats = [one for one in runner if _value(asked, one) < _value(asked, best[0])]
    return Plan(
        scenario=asked.scenario,
        objective=asked.objective,
        configurations=sum(piece.configurations for piece in pieces.values()),
        feasible=sum(piece.feasible for piece in pieces.values()),
        complete=complete,
        best=tuple(_choice(asked, one) for one in best),
        outside=_choice(asked, beats[0]) if beats else None,
        pareto=_front([_choice(asked, one) for one in _best_of_each(inside or outside)]),
        left_out=asked.left_out,
    )


def _ranked(asked: Question, candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda one: (_value(asked, one), *one.order))


def _value(asked: Question, one: Candidate) -> float:
    """Return what is to be made small."""
    machine, training = asked.machines[one.configuration.machine], asked.scenario.job.training
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


def _choice(asked: Question, one: Candidate) -> Choice:
    space = asked.spaces[one.configuration.machine]
    step = predict(
        one.configuration.job(space.job),
        model=space.model,
        network=space.network,
        engine=AnalyticEngine(),
    )
    assert abs(step.duration_s / one.duration_s - 1) < AGREEMENT, one
    machine = asked.machines[one.configuration.machine]
    return Choice(configuration=one.configuration, machine=machine, step=step)


def _best_of_each(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return each machine's best: on one machine cost and time are proportional."""
    found: dict[int, list[Candidate]] = {}
    for one in ranked:
        found.setdefault(one.configuration.machine, []).append(one)
    return [best_of(group)[0] for group in found.values()]


def _front(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Return those that no other beats in both time and cost, fastest first."""
    front: list[Choice] = []
    priced = [one for one in choices if one.usd_per_trillion_tokens is not None]
    for one in sorted(priced, key=lambda c: (c.step.duration_s, c.usd_per_trillion_tokens)):
        cheapest = front[-1].usd_per_trillion_tokens if front else None
        usd = one.usd_per_trillion_tokens
        if cheapest is None or (usd is not None and usd < cheapest):
            front.append(one)
    return tuple(front)
