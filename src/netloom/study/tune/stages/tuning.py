"""Which service levels a job's classes get, and what each is worth against one for all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import InfeasibleError, SpecError
from netloom.provenance import Why
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.headroom.budget import headroom
from netloom.study.inputs import model_of
from netloom.study.networks import network_of
from netloom.study.predict.prediction import predict
from netloom.study.tune.knobs import needs_pauses
from netloom.study.tune.stages.classes import classes_of, names_of
from netloom.study.tune.stages.measure import StageOptions
from netloom.study.tune.stages.phases import phases_of
from netloom.study.tune.stages.window import MAX_LEVEL, ONE_LEVEL, ServiceLevels
from netloom.study.tune.verdict import NO_GAIN, gain_over, tried_settings
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step
    from netloom.study.headroom.budget import HeadroomBudget
    from netloom.study.tune.stages.classes import StageClass
    from netloom.study.tune.stages.phases import StagePhase
    from netloom.study.tune.tuning import Ask, TuneRequest
    from netloom.study.tune.verdict import Gain, TriedSettings

__all__ = ["ClassWorth", "StagedSettings", "stages_with"]

MAX_CLASSES: Final = 4  # whose every order is tried; of more, neighbours are swapped
HEAVY: Final = 8.0  # share of the first level over the last where turns are weighted
ONE: Final = "one class"
RULE: Final = "exposed first"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWorth:
    """What a class's own level is worth.

    Attributes:
        name: Of the class.
        level: It has in the best.
        worth: How much longer the window gets when it is served with the lowest, as a share.
        collectives: In a step.
    """

    name: str
    level: int
    worth: float
    collectives: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "class": self.name,
            "level": self.level,
            "worth": self.worth,
            "collectives": self.collectives,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagedSettings(Tabular, Explained):
    """One class for all, the rule of order, and the best found, side by side.

    Attributes:
        levels: The best.
        tried: All that the search tried, with the mean over its seeds.
        classes: What each class's own level is worth, the first first.
        phases: What may change within a step.
        buffers: What headroom is left with a lossless priority for each level.
        scale: Of sizes and computation in the window.
        share: Of a step that the window stands for.
    """

    scenario: Scenario
    default: TriedSettings
    rule: TriedSettings
    best: TriedSettings
    gain: Gain
    rule_gain: Gain
    levels: ServiceLevels
    tried: tuple[tuple[str, float], ...]
    classes: tuple[ClassWorth, ...]
    phases: tuple[StagePhase, ...]
    buffers: HeadroomBudget
    num_simulations: int
    seeds: tuple[int, ...]
    jitter_s: float

    @property
    def is_better(self) -> bool:
        """Whether the best surely beats one class for all."""
        return not self.best.broken and self.gain.is_sure

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if not self.is_better:
            return f"{NO_GAIN}: one class for all"
        low, high = self.gain.low or 0.0, self.gain.high or 0.0
        return (
            f"{self.levels.name} makes a step's window {self.gain.mean:.1%} shorter than one "
            f"class for all ({low:.1%} to {high:.1%})"
        )

    def table(self) -> Table:
        """Return one row a way of serving the classes."""
        return Table.from_rows({"levels": name, "window_s": value} for name, value in self.tried)

    def explanations(self) -> dict[str, Why]:
        """Return how the gain came about."""
        runs = tuple(
            Why(name=f"seed {seed}", value=1 - theirs / ours, how="1 - best / one class")
            for seed, ours, theirs in zip(
                self.seeds, self.default.runs, self.best.runs, strict=True
            )
        )
        how = "mean over seeds that the search did not see, on the same window of a step"
        return {"gain": Why(name="gain", value=self.gain.mean, how=how, parts=runs)}

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "objective": "step",
            "meaning": "a window of the step in which its classes meet on the network",
            "unit": "s",
            "verdict": self.verdict,
            "better": self.is_better,
            "default": self.default.to_json(),
            "presets": [{**self.rule.to_json(), "gain": self.rule_gain.mean}],
            "best": {**self.best.to_json(), "published": ""},
            "gain": self.gain.mean,
            "gain_low": self.gain.low,
            "gain_high": self.gain.high,
            "trials": len(self.tried),
            "simulations": self.num_simulations,
            "seeds": list(self.seeds),
            "jitter_s": self.jitter_s,
            "sensitivity": [],
            "stages": [one.to_json() for one in self.classes],
            "phases": [one.to_json() for one in self.phases],
            "headroom_bytes": self.buffers.settings.headroom_bytes,
            "pool_bytes": self.buffers.settings.pool_bytes,
        }


def stages_with(
    scenario: Scenario, catalog: Catalog, ask: Ask, request: TuneRequest
) -> StagedSettings:
    """Return the best service levels of a job's classes, and what each is worth.

    Args:
        scenario: A cluster with pauses, and a job.
        catalog: The parts.
        ask: Runs trials of :func:`~netloom.study.tune.stages.measure.measured_stages`.
        request: How to search.

    Raises:
        NetloomError: there is no job, or fewer than two classes leave a node.
    """
    needs_pauses(scenario, catalog)
    if scenario.traffic is not None or scenario.jobs is not None:
        raise SpecError(
            option="--stages",
            what="the scenario has no job of its own",
            remedy="give 'job'; jobs that share a fabric are tuned without --stages",
        )
    network = network_of(scenario.cluster, catalog)
    model = model_of(scenario, catalog)
    classes, _ = classes_of(scenario.job, model=model, network=network)
    if len(classes) < 2:
        raise InfeasibleError(
            key="job",
            what=f"{len(classes)} class of its traffic leaves a node",
            remedy="there is no order to find; tune without --stages",
        )
    run = _Stager(scenario=scenario, ask=ask, request=request)
    candidates = candidates_of(names_of(classes))
    scores = [run.mean(one) for one in candidates]
    best = candidates[int(np.argmin(scores))]
    found = {one.name: run.on_verdict_seeds(one) for one in (*candidates[:2], best)}
    default, rule, tried = found[ONE], found[RULE], found[best.name]
    step = predict(scenario, catalog).step
    return StagedSettings(
        scenario=scenario,
        default=default,
        rule=rule,
        best=tried,
        gain=gain_over(default, tried),
        rule_gain=gain_over(default, rule),
        levels=best,
        tried=tuple((one.name, score) for one, score in zip(candidates, scores, strict=True)),
        classes=run.worths(classes, best, tried),
        phases=phases_of({one.name: one.count for one in classes}, _times(classes, step)),
        buffers=headroom(scenario, catalog, num_priorities=len(set(best.level.values()))),
        num_simulations=run.count,
        seeds=request.seeds,
        jitter_s=request.jitter_s,
    )


def candidates_of(names: Sequence[str]) -> tuple[ServiceLevels, ...]:
    """Return what to try: one class, the rule, every other order, and weights and pieces of it."""
    one = _levels(ONE, dict.fromkeys(names, ONE_LEVEL))
    rule = _levels(RULE, _ordered(names))
    others = [
        _levels(" > ".join(order), _ordered(order))
        for order in _orders(names)
        if tuple(order) != tuple(names)
    ]
    first, last = rule.level[names[0]], rule.level[names[-1]]
    weighted = _levels(f"{RULE}, {HEAVY:.0f}:1 by turns", rule.level)
    weights = {
        level: HEAVY ** ((level - last) / max(first - last, 1))
        for level in set(rule.level.values())
    }
    pieces = dict.fromkeys(names[-1:], 4)
    return (
        one,
        rule,
        *others,
        _with(weighted, weights=weights),
        _with(_levels(f"{RULE}, {names[-1]} in 4 pieces", rule.level), slices=pieces),
        _with(_levels(f"{RULE}, {names[-1]} on 4 more paths", rule.level), qps=pieces),
    )


def _orders(names: Sequence[str]) -> list[tuple[str, ...]]:
    if len(names) <= MAX_CLASSES:
        return list(permutations(names))
    swapped = []
    for k in range(len(names) - 1):
        order = list(names)
        order[k], order[k + 1] = order[k + 1], order[k]
        swapped.append(tuple(order))
    return swapped


def _ordered(names: Sequence[str]) -> dict[str, int]:
    """Return levels from the highest down; those beyond the last share it."""
    return {name: max(1, MAX_LEVEL - k) for k, name in enumerate(names)}


def _levels(name: str, level: Mapping[str, int]) -> ServiceLevels:
    return ServiceLevels(name=name, level=dict(level), weights={}, slices={}, qps={})


def _with(
    levels: ServiceLevels,
    *,
    weights: Mapping[int, float] | None = None,
    slices: Mapping[str, int] | None = None,
    qps: Mapping[str, int] | None = None,
) -> ServiceLevels:
    return ServiceLevels(
        name=levels.name,
        level=levels.level,
        weights=weights or {},
        slices=slices or {},
        qps=qps or {},
    )


_AXES: Final = {
    "tensor": Axis.TENSOR,
    "context": Axis.CONTEXT,
    "pipeline": Axis.PIPELINE,
    "expert": Axis.EXPERT,
    "gather": Axis.DATA,
    "data": Axis.DATA,
}


def _times(classes: Sequence[StageClass], step: Step) -> dict[str, float]:
    """Return each class's time in a step; gather and data split what their axis takes by bytes."""
    sent = {one.name: sum(item.size_bytes for item in one.items) for one in classes}
    found = {}
    for one in classes:
        axis = _AXES[one.name]
        beside = sum(sent[other] for other in sent if _AXES[other] is axis)
        found[one.name] = step.communication_s.get(axis, 0.0) * sent[one.name] / max(beside, 1.0)
    return found


@dataclass(slots=True, kw_only=True)
class _Stager:
    scenario: Scenario
    ask: Ask
    request: TuneRequest
    count: int = 0

    def _trials(self, levels: ServiceLevels, seeds: Sequence[int]) -> Sequence[Mapping[str, Any]]:
        options = StageOptions(
            level=dict(levels.level),
            weights=dict(levels.weights),
            slices=dict(levels.slices),
            qps=dict(levels.qps),
            jitter_s=self.request.jitter_s,
        )
        self.count += len(seeds)
        trials = self.ask([(self.scenario, options, seed) for seed in seeds])
        for trial in trials:
            if "error" in trial:
                raise InfeasibleError(key="job", what=str(trial["error"]))
        return trials

    def mean(self, levels: ServiceLevels) -> float:
        """Return the window's length on the search's seeds."""
        first, count = self.request.seed, self.request.search_seeds
        trials = self._trials(levels, range(first, first + count))
        broken = sum(self.request.limits.excess(trial) for trial in trials)
        return float("inf") if broken else float(np.mean([one["value"] for one in trials]))

    def on_verdict_seeds(self, levels: ServiceLevels) -> TriedSettings:
        """Return the window's length on seeds that the search does not see."""
        trials = self._trials(levels, self.request.seeds)
        values = {name: float(level) for name, level in levels.level.items()}
        return tried_settings(levels.name, values, trials, self.request.limits)

    def worths(
        self, classes: Sequence[StageClass], best: ServiceLevels, tried: TriedSettings
    ) -> tuple[ClassWorth, ...]:
        """Return what is lost when one class alone falls to the lowest level."""
        lowest = min(best.level.values())
        found = []
        for one in sorted(classes, key=lambda one: -best.level[one.name]):
            level = best.level[one.name]
            worth = 0.0
            if level > lowest:
                fallen = ServiceLevels(
                    name=f"{best.name} without {one.name}",
                    level={**best.level, one.name: lowest},
                    weights=best.weights,
                    slices=best.slices,
                    qps=best.qps,
                )
                worth = self.on_verdict_seeds(fallen).mean / tried.mean - 1
            found.append(ClassWorth(name=one.name, level=level, worth=worth, collectives=one.count))
        return tuple(found)
