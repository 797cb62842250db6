"""Whether settings beat the default: paired gains on seeds that no search has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.results.interval import mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.study.tune.limits import TuneLimits

__all__ = ["NO_GAIN", "Gain", "TriedSettings", "gain_over", "no_gain", "tried_settings"]

NO_GAIN: Final = "no setting is better than the default"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedSettings:
    """Settings on the seeds of the verdict.

    Attributes:
        name: ``default``, ``best``, or a published name.
        values: By knob; empty for what is not of the search.
        runs: The objective, seed by seed.
        mean: Over seeds.
        low: Of its 95 % confidence interval; None of one seed.
        high: Likewise.
        broken: Which limits some seed breaks, in words.
        pause_share: Of links' time, in the mean.
    """

    name: str
    values: Mapping[str, float]
    runs: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None
    broken: tuple[str, ...]
    pause_share: float

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "values": dict(self.values),
            "value": self.mean,
            "low": self.low,
            "high": self.high,
            "pause_share": self.pause_share,
            "broken": list(self.broken),
        }


def tried_settings(
    name: str,
    values: Mapping[str, float],
    trials: Sequence[Mapping[str, Any]],
    limits: TuneLimits,
) -> TriedSettings:
    """Return what *trials*, one a seed, say of settings."""
    runs = tuple(float(trial["value"]) for trial in trials)
    found = mean_interval(runs)
    return TriedSettings(
        name=name,
        values=values,
        runs=runs,
        mean=found.mean,
        low=found.low,
        high=found.high,
        broken=tuple(dict.fromkeys(text for trial in trials for text in limits.broken(trial))),
        pause_share=sum(trial["pause_share"] for trial in trials) / len(trials),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How much shorter the objective is than the default's, as a share of it.

    Attributes:
        mean: Over seeds, each against the default on the same seed.
        low: Of its 95 % confidence interval; None of one seed.
        high: Likewise.
    """

    mean: float
    low: float | None
    high: float | None

    @property
    def is_sure(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.low is not None and self.low > 0


def gain_over(default: TriedSettings, other: TriedSettings) -> Gain:
    """Return the gain of *other*; runs of one seed saw the same traffic, jitter and hashes."""
    pairs = zip(default.runs, other.runs, strict=True)
    found = mean_interval([1 - theirs / ours for ours, theirs in pairs])
    return Gain(mean=found.mean, low=found.low, high=found.high)


def no_gain(presets: Sequence[TriedSettings], gains: Mapping[str, Gain]) -> str:
    """Return what to say where the best is not surely better: a published setting may be."""
    sure = [one.name for one in presets if gains[one.name].is_sure and not one.broken]
    if not sure:
        return NO_GAIN
    name = max(sure, key=lambda one: gains[one].mean)
    gain = gains[name]
    return (
        "no setting that the search found is better than the default; of the published ones "
        f"{name} is, by {gain.mean:.1%} ({gain.low:.1%} to {gain.high:.1%})"
    )
