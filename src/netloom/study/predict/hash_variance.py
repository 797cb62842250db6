"""How much a step depends on the draw of the hash: its distribution over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.errors import SpecError
from netloom.results.interval import CONFIDENCE, mean_interval
from netloom.results.progress import counter
from netloom.study.inputs import model_of
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.prediction import step_on

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.parts.load import Catalog
    from netloom.results.interval import Interval
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario

__all__ = ["HashVariance", "check_draws", "draws", "luck"]

MAX_DRAWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HashVariance:
    """The step times of one technology, a draw of the hash and of the displaced nodes each.

    Attributes:
        steps_s: In the order of the seeds.
    """

    technology: str
    seeds: tuple[int, ...]
    steps_s: tuple[float, ...]

    @property
    def mean(self) -> Interval:
        """The mean, and where the true mean lies with 95 % confidence."""
        return mean_interval(self.steps_s)

    def quantile(self, share: float) -> float:
        """Return the step time that *share* of the draws stay below, between neighbours in line."""
        ordered = sorted(self.steps_s)
        place = share * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        mean = self.mean
        return {
            "technology": self.technology,
            "draws": mean.count,
            "mean_s": mean.mean,
            "confidence": CONFIDENCE,
            "low_s": mean.low,
            "high_s": mean.high,
            "p5_s": self.quantile(0.05),
            "p50_s": self.quantile(0.5),
            "p95_s": self.quantile(0.95),
            "least_s": mean.least,
            "most_s": mean.most,
        }


def check_draws(count: int | None, engine: str, *, seed: int = 0) -> None:
    """Raise SpecError unless *seed* and *count* draws, where given, make sense with *engine*."""
    if seed and engine == "analytic":
        raise SpecError(
            option="--seed",
            what="the closed form draws nothing",
            remedy="add --engine flow, or leave it out",
        )
    if count is None:
        return
    if engine != "flow":
        raise SpecError(
            option="--seeds",
            what="only flows are drawn many times",
            remedy="use --engine flow, or leave it out",
        )
    if not 1 <= count <= MAX_DRAWS:
        raise SpecError(
            option="--seeds",
            what=f"{count} is not a number of draws",
            remedy=f"give 1 to {MAX_DRAWS:,}",
        )


def luck(
    scenario: Scenario,
    catalog: Catalog,
    *,
    seeds: Sequence[int],
    technology: str = "",
    advance: Callable[[], object] = lambda: None,
) -> HashVariance:
    """Return the step of *scenario* by the flow engine, once for each of *seeds*.

    Args:
        scenario: What was asked for.
        catalog: The parts to build it from.
        seeds: At least one.
        technology: In place of the scenario's own.
        advance: Called after each draw, for a progress bar.

    Raises:
        NetloomError: the scenario is impossible.
    """
    assert seeds, "no seeds"
    network = network_of(scenario.cluster, catalog, technology=technology)
    model = model_of(scenario, catalog)
    steps_s = []
    for seed in seeds:
        step = step_on(network, scenario, model=model, engine=engine_named("flow", seed=seed))
        steps_s.append(float(step.duration_s))
        advance()
    return HashVariance(
        technology=network.technology.name, seeds=tuple(seeds), steps_s=tuple(steps_s)
    )


def draws(
    scenario: Scenario,
    catalog: Catalog,
    seeds: Sequence[int],
    technologies: Sequence[str] = ("",),
    *,
    on_progress: OnProgress | None = None,
) -> tuple[HashVariance, ...]:
    """Return the distribution over *seeds* for each of *technologies*, empty for the scenario's."""
    advance = counter(on_progress, len(technologies) * len(seeds))
    return tuple(
        luck(scenario, catalog, seeds=seeds, technology=name, advance=advance)
        for name in technologies
    )
