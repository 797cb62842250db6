"""Search, verdict, sensitivity and where it breaks, given something that runs trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.wire.published_settings import PUBLISHED_SETTINGS
from netloom.study.headroom.budget import headroom
from netloom.study.tune.breaks import SettingsBreak, variations_of
from netloom.study.tune.knobs import needs_pauses, settings_space, with_values
from netloom.study.tune.limits import TuneLimits
from netloom.study.tune.measure import OBJECTIVES, Objective, TrialOptions
from netloom.study.tune.result import KnobEffect, TunedSettings
from netloom.study.tune.search import Rung, Score, search
from netloom.study.tune.verdict import gain_over, tried_settings

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.spec.fabric.settings import OwnSettings
    from netloom.spec.scenario import Scenario
    from netloom.study.tune.breaks import ScenarioVariation
    from netloom.study.tune.plan import TrialRequest
    from netloom.study.tune.space import KnobSpace
    from netloom.study.tune.verdict import TriedSettings

__all__ = ["Ask", "TuneRequest", "objective_of", "tune_with"]

# Answers trials in order; one that failed has an "error".
Ask = Callable[[Sequence["TrialRequest"]], Sequence[Mapping[str, Any]]]
VERDICT_SEEDS: Final = 1_000_000  # from here on, far from those of the search
SENSITIVITY_SHARES: Final = (0.0, 0.5, 1.0)
NOT_RUN: Final = Score(excess=np.inf, value=np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest:
    """How to search.

    Attributes:
        objective: What to make shorter.
        over: Groups of knobs; empty for the usual.
        budget: Trials of the search.
        seed: Of the search: its start, and the first of its seeds.
        search_seeds: Seeds of a trial at full length.
        verdict_seeds: Seeds of the verdict, none of them the search's.
        jitter_s: Transfers start up to so much later, each by its own draw.
        limits: What no setting may break.
        explores: Whether to say which knob matters and where it breaks.
    """

    objective: Objective = "p99"
    over: tuple[str, ...] = ()
    budget: int = 60
    seed: int = 0
    search_seeds: int = 2
    verdict_seeds: int = 8
    jitter_s: float = 10e-6
    limits: TuneLimits = field(default_factory=TuneLimits)
    explores: bool = True

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise SpecError(
                option="--for",
                what=f"{self.objective!r} is not known",
                remedy=f"use one of {', '.join(OBJECTIVES)}",
            )
        if not 2 <= self.budget <= 100_000:
            raise SpecError(
                option="--budget", what=f"{self.budget} trials", remedy="give 2 to 100,000"
            )
        if not 2 <= self.verdict_seeds <= 1000:
            raise SpecError(
                option="--seeds",
                what=f"{self.verdict_seeds} seeds give no interval, or too many",
                remedy="give 2 to 1000",
            )
        if not 0 <= self.jitter_s < math.inf:
            raise SpecError(
                option="--jitter",
                what=f"{self.jitter_s:.6g} s is no time to wait",
                remedy="give 0s or more, such as 10us",
            )

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those of the verdict."""
        first = VERDICT_SEEDS + 1000 * self.seed
        return tuple(range(first, first + self.verdict_seeds))


def objective_of(scenario: Scenario) -> Objective:
    """Return what is made shorter where nothing is said: a job's step, or a traffic's p99."""
    return "step" if scenario.traffic is None else "p99"


def tune_with(
    scenario: Scenario, catalog: Catalog, ask: Ask, request: TuneRequest
) -> TunedSettings:
    """Return the best settings of *scenario* that a search finds, and how sure that is.

    Args:
        scenario: A cluster with pauses, and its traffic or job.
        catalog: The parts.
        ask: Runs trials.
        request: How to search.

    Raises:
        NetloomError: there is nothing to tune, or the scenario cannot be run as it is.
    """
    needs_pauses(scenario, catalog)
    run = _Tuner(scenario=scenario, catalog=catalog, ask=_counted(ask), request=request)
    space = settings_space(scenario, catalog, request.over)
    default = run.on_verdict_seeds("default", {}, scenario)
    rng = np.random.default_rng(request.seed)
    full = Rung(length=1.0, num_seeds=request.search_seeds)
    found = search(space, run.scores, budget=request.budget, rng=rng, full=full)
    values = {} if found.best is found.trials[0] else found.best.values
    chosen = run.better_preset(found.best.score, full)
    tuned = scenario.with_settings(chosen) if chosen else with_values(scenario, values)
    best = run.on_verdict_seeds("best", {} if chosen else values, tuned)
    presets = run.presets()
    sensitivity: tuple[KnobEffect, ...] = ()
    breaks: tuple[SettingsBreak, ...] = ()
    if request.explores:
        sensitivity = run.sensitivity(space, found.best.values)
        if tuned is not scenario:
            settings = tuned.cluster.fabric.settings
            breaks = run.breaks(variations_of(scenario, catalog), settings, values)
    return TunedSettings(
        scenario=scenario,
        tuned=tuned,
        chosen=chosen,
        buffers=headroom(tuned, catalog),
        objective=request.objective,
        limits=request.limits,
        space=space,
        found=found,
        default=default,
        presets=presets,
        best=best,
        gain=gain_over(default, best),
        preset_gains={one.name: gain_over(default, one) for one in presets},
        sensitivity=sensitivity,
        breaks=breaks,
        num_simulations=run.ask.count,
        seeds=request.seeds,
        jitter_s=request.jitter_s,
    )


class _counted:  # noqa: N801  (a function that remembers)
    """Counts what is asked."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.count = 0

    def __call__(self, requests: Sequence[TrialRequest]) -> Sequence[Mapping[str, Any]]:
        self.count += len(requests)
        return self._ask(requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tuner:
    scenario: Scenario
    catalog: Catalog
    ask: _counted
    request: TuneRequest

    def options(self, length: float = 1.0) -> TrialOptions:
        asked = self.request
        return TrialOptions(objective=asked.objective, jitter_s=asked.jitter_s, length=length)

    def scores(self, settings: Sequence[Mapping[str, float]], rung: Rung) -> list[Score]:
        """Return the score of each, on the same seeds of the search for all."""
        options = self.options(rung.length)
        seeds = range(self.request.seed, self.request.seed + rung.num_seeds)
        scenarios = [with_values(self.scenario, values) for values in settings]
        trials = self.ask([(one, options, seed) for one in scenarios for seed in seeds])
        return [
            self._score(one, trials[k * len(seeds) : (k + 1) * len(seeds)])
            for k, one in enumerate(scenarios)
        ]

    def _score(self, scenario: Scenario, trials: Sequence[Mapping[str, Any]]) -> Score:
        if any("error" in trial or trial["value"] is None for trial in trials):
            return NOT_RUN
        limits = self.request.limits
        excess = float(np.mean([limits.excess(trial) for trial in trials]))
        if np.isfinite(limits.max_buffer_bytes):
            excess += limits.buffer_excess(headroom(scenario, self.catalog))
        return Score(
            excess=excess,
            value=float(np.mean([trial["value"] for trial in trials])),
        )

    def on_verdict_seeds(
        self, name: str, values: Mapping[str, float], scenario: Scenario
    ) -> TriedSettings:
        """Return *scenario* on seeds that the search does not see.

        Raises:
            InfeasibleError: it cannot be run.
        """
        options = self.options()
        trials = self.ask([(scenario, options, seed) for seed in self.request.seeds])
        for trial in trials:
            if "error" in trial or trial["value"] is None:
                raise InfeasibleError(
                    key=name,
                    what=str(trial.get("error", "nothing ever arrives")),
                    remedy="make 'netloom simulate' run it first",
                )
        limits = self.request.limits
        tried = tried_settings(name, values, trials, limits)
        if not np.isfinite(limits.max_buffer_bytes):
            return tried
        over = limits.buffer_broken(headroom(scenario, self.catalog))
        return replace(tried, broken=(*tried.broken, *over))

    def presets(self) -> tuple[TriedSettings, ...]:
        """Return every published setting that runs here."""
        return tuple(
            self.on_verdict_seeds(name, {}, self.scenario.with_settings(name))
            for name in _published_names()
        )

    def better_preset(self, best: Score, full: Rung) -> str:
        """Return the published settings that beat *best* on the search's seeds; or nothing."""
        names = _published_names()
        seeds = range(self.request.seed, self.request.seed + full.num_seeds)
        options = self.options()
        scores = []
        for name in names:
            changed = self.scenario.with_settings(name)
            trials = self.ask([(changed, options, seed) for seed in seeds])
            scores.append(self._score(changed, trials))
        least = min(range(len(names)), key=lambda k: scores[k])
        return names[least] if scores[least] < best else ""

    def sensitivity(self, space: KnobSpace, best: Mapping[str, float]) -> tuple[KnobEffect, ...]:
        """Return what each knob does over its whole range, all others at their best."""
        rung = Rung(length=1.0, num_seeds=self.request.search_seeds)
        tried = {
            knob.name: [{**best, knob.name: knob.at(share)} for share in SENSITIVITY_SHARES]
            for knob in space.knobs
        }
        asked = [values for several in tried.values() for values in several]
        scores = iter(self.scores([best, *asked], rung))
        base = next(scores)
        noise = self._noise(best)
        found = []
        for knob in space.knobs:
            mine = [(next(scores), values[knob.name]) for values in tried[knob.name]]
            worst = max(mine)
            rise = worst[0].value / base.value - 1 if base.value > 0 else 0.0
            found.append(
                KnobEffect(
                    knob=knob.name,
                    unit=knob.unit,
                    best=best.get(knob.name, knob.default),
                    worst=worst[1],
                    effect=max(rise, 0.0),
                    noise=noise,
                )
            )
        return tuple(sorted(found, key=lambda one: -one.effect))

    def _noise(self, best: Mapping[str, float]) -> float:
        """Return half the spread over all seeds of the best, as a share of it.

        Those of the search alone are too few: two may agree by chance.
        """
        first = self.request.seed
        seeds = (*range(first, first + self.request.search_seeds), *self.request.seeds)
        changed = with_values(self.scenario, best)
        trials = self.ask([(changed, self.options(), seed) for seed in seeds])
        values = [float(trial["value"]) for trial in trials]
        return (max(values) - min(values)) / 2 / float(np.mean(values))

    def breaks(
        self,
        variations: Sequence[ScenarioVariation],
        settings: str | OwnSettings | None,
        values: Mapping[str, float],
    ) -> tuple[SettingsBreak, ...]:
        """Return the best against the default where things are worse, on two verdict seeds."""
        seeds, options = self.request.seeds[:2], self.options()
        found = []
        for one in variations:
            changed = with_values(one.scenario, values).with_settings(settings)
            pair = (one.scenario, changed)
            trials = self.ask([(each, options, seed) for each in pair for seed in seeds])
            ours, theirs = trials[: len(seeds)], trials[len(seeds) :]
            found.append(
                SettingsBreak(
                    what=one.what,
                    level=one.level,
                    unit=one.unit,
                    gain=_gain(ours, theirs),
                    broken=self._broken(theirs),
                    default_broken=self._broken(ours),
                )
            )
        return tuple(found)

    def _broken(self, trials: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        texts: list[str] = []
        for trial in trials:
            if "error" in trial:
                texts.append(str(trial["error"]))
            else:
                texts += self.request.limits.broken(trial)
        return tuple(dict.fromkeys(texts))


def _published_names() -> tuple[str, ...]:
    """Return the published settings that are for pauses."""
    entries = PUBLISHED_SETTINGS.entries()
    return tuple(entry.name for entry in entries if entry.queue_shares is None)


def _gain(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> float | None:
    values = [trial.get("value") for trial in (*ours, *theirs)]
    if any(value is None for value in values):
        return None
    pairs = zip(ours, theirs, strict=True)
    return float(np.mean([1 - best["value"] / own["value"] for own, best in pairs]))
