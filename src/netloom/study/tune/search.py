"""The search itself: an even start, successive halving on length, then a local search.

It knows nothing of networks: *evaluate* scores settings at a rung, on the same seeds for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.study.tune.sobol import sobol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.study.tune.space import KnobSpace

__all__ = ["FULL", "Evaluate", "Rung", "Score", "SearchResult", "SearchTrial", "search"]

START_SHARE: Final = 0.5  # of the budget for the even start
KEEP_SHARE: Final = 0.25  # of a rung that goes on to the next
FIRST_RADIUS: Final = 0.2  # of the unit cube's side
LEAST_RADIUS: Final = 0.01
LEAST_GAIN: Final = 1e-9  # relative; less is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """How much of a trial is run.

    Attributes:
        length: Share of the whole traffic.
        num_seeds: Of those of the search, from the first.
    """

    length: float
    num_seeds: int


FULL: Final = Rung(length=1.0, num_seeds=2)
SHORT: Final = (Rung(length=0.25, num_seeds=1), Rung(length=0.5, num_seeds=1))


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Score:
    """What a trial came to; less is better, and what breaks a limit is worse than all that do not.

    Attributes:
        excess: How far over hard limits, summed; 0 within all.
        value: The objective, in the mean over seeds.
    """

    excess: float
    value: float


Evaluate = Callable[[Sequence[Mapping[str, float]], Rung], Sequence[Score]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTrial:
    """One setting, tried once.

    Attributes:
        phase: ``start``, ``halving`` or ``local``.
    """

    values: Mapping[str, float]
    rung: Rung
    score: Score
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best setting at full length, and all that were tried, in order."""

    best: SearchTrial
    trials: tuple[SearchTrial, ...]


def search(
    space: KnobSpace,
    evaluate: Evaluate,
    *,
    budget: int,
    rng: np.random.Generator,
    full: Rung = FULL,
) -> SearchResult:
    """Return the best of about *budget* trials; the defaults are among those at full length.

    Args:
        space: What may be turned.
        evaluate: Scores settings, several at a time.
        budget: Trials, of any length.
        rng: Shifts the even start.
        full: The last rung.
    """
    run = _SearchRun(space=space, evaluate=evaluate, budget=max(budget, 2), full=full)
    default = space.point(space.defaults)
    run.tried([default], full, "start")
    num_start = round(START_SHARE * run.budget)
    if run.left > 0 and num_start > 0 and space.knobs:
        points = list(sobol(num_start, len(space.knobs), rng=rng))
        _halve(run, points)
    if space.knobs:
        _local(run)
    best = min((one for one in run.trials if one.rung == full), key=lambda one: one.score)
    return SearchResult(best=best, trials=tuple(run.trials))


@dataclass(slots=True, kw_only=True, eq=False)
class _SearchRun:
    space: KnobSpace
    evaluate: Evaluate
    budget: int
    full: Rung
    trials: list[SearchTrial] = field(default_factory=list)
    known: dict[tuple[Rung, tuple[float, ...]], Score] = field(default_factory=dict)

    @property
    def left(self) -> int:
        return self.budget - len(self.trials)

    def tried(self, points: Sequence[NDArray[np.float64]], rung: Rung, phase: str) -> list[Score]:
        """Return the scores of *points*, as far as the budget goes; what is known costs nothing."""
        keys = [(rung, tuple(self.space.values(point).values())) for point in points]
        fresh = [key for key in dict.fromkeys(keys) if key not in self.known][: max(self.left, 0)]
        names = [knob.name for knob in self.space.knobs]
        asked = [dict(zip(names, values, strict=True)) for _, values in fresh]
        scores = self.evaluate(asked, rung) if asked else ()
        for key, values, score in zip(fresh, asked, scores, strict=True):
            self.known[key] = score
            self.trials.append(SearchTrial(values=values, rung=rung, score=score, phase=phase))
        unknown = Score(excess=np.inf, value=np.inf)
        return [self.known.get(key, unknown) for key in keys]


def _halve(run: _SearchRun, points: list[NDArray[np.float64]]) -> None:
    """Try all points short, a quarter of them longer, and a quarter of those at full length."""
    for rung in (*SHORT, run.full):
        scores = run.tried(points, rung, "start" if rung == SHORT[0] else "halving")
        order = sorted(range(len(points)), key=lambda k: scores[k])
        count = max(1, round(KEEP_SHARE * len(points)))
        points = [points[k] for k in order[:count]]


def _local(run: _SearchRun) -> None:
    """Poll both sides of every knob around the best, and where their parabolas have their least."""
    radius = FIRST_RADIUS
    centre, score = _best(run)
    while run.left > 0 and radius >= LEAST_RADIUS:
        polls = _polls(centre, radius)
        scores = run.tried([point for pair in polls for point in pair], run.full, "local")
        least = []
        for k, (low, high) in enumerate(polls):
            at = (float(low[k]), float(centre[k]), float(high[k]))
            least.append(_parabola(radius, at, (scores[2 * k], score, scores[2 * k + 1])))
        proposal = np.array(least)
        if run.left > 0:
            run.tried([proposal], run.full, "local")
        nearest, best = _best(run)
        improved = best.excess < score.excess or best.value < score.value * (1 - LEAST_GAIN)
        moved = float(np.abs(nearest - centre).max()) if improved else 0.0
        radius = radius if moved >= radius else radius / 2
        centre, score = nearest, best


def _best(run: _SearchRun) -> tuple[NDArray[np.float64], Score]:
    whole = [one for one in run.trials if one.rung == run.full]
    best = min(whole, key=lambda one: one.score)
    return run.space.point(best.values), best.score


def _polls(
    centre: NDArray[np.float64], radius: float
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    found = []
    for k in range(len(centre)):
        low, high = centre.copy(), centre.copy()
        low[k], high[k] = max(0.0, centre[k] - radius), min(1.0, centre[k] + radius)
        found.append((low, high))
    return found


def _parabola(
    radius: float, at: tuple[float, float, float], scores: tuple[Score, Score, Score]
) -> float:
    """Return where a parabola through three points is least, at most a radius outside of them."""
    low, middle, high = at
    if any(one.excess > 0 or not np.isfinite(one.value) for one in scores):
        return min(zip(scores, at, strict=True), key=lambda pair: pair[0])[1]
    if not low < middle < high:
        return min(zip(scores, at, strict=True), key=lambda pair: pair[0])[1]
    left, here, right = (one.value for one in scores)
    rise, fall = (right - here) / (high - middle), (here - left) / (middle - low)
    bend = (rise - fall) / (high - low)
    if bend <= 0:
        return min(zip(scores, at, strict=True), key=lambda pair: pair[0])[1]
    slope = fall + bend * (middle - low)
    least = middle - slope / (2 * bend)
    return float(min(max(least, low - radius, 0.0), high + radius, 1.0))
