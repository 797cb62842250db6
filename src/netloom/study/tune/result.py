"""What a search for settings found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.provenance import Source, Why
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.spec.fabric.settings import OwnSettings
from netloom.study.tune.verdict import no_gain

if TYPE_CHECKING:
    from netloom.spec.scenario import Scenario
    from netloom.study.headroom.budget import HeadroomBudget
    from netloom.study.tune.breaks import SettingsBreak
    from netloom.study.tune.limits import TuneLimits
    from netloom.study.tune.measure import Objective
    from netloom.study.tune.search import SearchResult
    from netloom.study.tune.space import KnobSpace
    from netloom.study.tune.verdict import Gain, TriedSettings

__all__ = ["KnobEffect", "TunedSettings"]

MEANINGS: Final = {
    "step": "the step of the job, or from the first start of the traffic to its last end",
    "fct": "flow completion time, in the mean",
    "p99": "flow completion time that 99 % stay under",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobEffect:
    """How much one knob matters with all others at their best.

    Attributes:
        best: Where it stands.
        worst: The value of those tried at which the objective was longest.
        effect: How much longer, as a share.
        noise: Half of the objective's interval over seeds, as a share: less is not told apart.
    """

    knob: str
    unit: str
    best: float
    worst: float
    effect: float
    noise: float

    @property
    def matters(self) -> bool:
        """Whether the effect is more than seeds alone make."""
        return self.effect > self.noise

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "knob": self.knob,
            "unit": self.unit,
            "best": self.best,
            "worst": self.worst,
            "effect": self.effect,
            "noise": self.noise,
            "matters": self.matters,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TunedSettings(Tabular, Explained):
    """Default, published settings and the best found, side by side.

    Attributes:
        scenario: What was asked.
        tuned: The same with the best settings, surely better or not.
        chosen: The published settings that the best are; empty where the search found others.
        buffers: Of its switches with the best settings, from which marks and pauses follow.
        objective: What was made shorter.
        limits: What no setting may break.
        space: What was turned.
        found: All trials of the search.
        best: What it found, on seeds that it did not see; equal to the default where that won.
        gain: Of the best over the default.
        preset_gains: Of each published setting over the default, by name.
        sensitivity: The knob that matters most first.
        breaks: Where the best stops being better.
        num_simulations: In all.
        seeds: Of the verdict.
        jitter_s: Starts were drawn from this.
    """

    scenario: Scenario
    tuned: Scenario
    chosen: str
    buffers: HeadroomBudget
    objective: Objective
    limits: TuneLimits
    space: KnobSpace
    found: SearchResult
    default: TriedSettings
    presets: tuple[TriedSettings, ...]
    best: TriedSettings
    gain: Gain
    preset_gains: dict[str, Gain]
    sensitivity: tuple[KnobEffect, ...]
    breaks: tuple[SettingsBreak, ...]
    num_simulations: int
    seeds: tuple[int, ...]
    jitter_s: float

    @property
    def is_better(self) -> bool:
        """Whether the best keeps to all limits and surely beats the default, or that breaks one."""
        return not self.best.broken and (self.gain.is_sure or bool(self.default.broken))

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if not self.is_better:
            return no_gain(self.presets, self.preset_gains)
        if self.default.broken:
            return f"the default breaks a limit ({self.default.broken[0]}); the best keeps to all"
        low, high = self.gain.low or 0.0, self.gain.high or 0.0
        name = f"{self.chosen} makes" if self.chosen else "the best settings make"
        return (
            f"{name} {self.objective} {self.gain.mean:.1%} shorter than the "
            f"default ({low:.1%} to {high:.1%})"
        )

    @property
    def advised(self) -> Scenario:
        """What to run: the scenario with the best settings, or as it was asked."""
        return self.tuned if self.is_better else self.scenario

    @property
    def settings(self) -> OwnSettings | str | None:
        """What goes into ``cluster.fabric.settings``: the best, or what is there already."""
        return self.advised.cluster.fabric.settings

    def table(self) -> Table:
        """Return one row a setting, on the seeds of the verdict."""
        return Table.from_rows(
            {
                "settings": one.name,
                "value_s": one.mean,
                "low_s": one.low,
                "high_s": one.high,
                "pause_share": one.pause_share,
            }
            for one in (self.default, *self.presets, self.best)
        )

    def explanations(self) -> dict[str, Why]:
        """Return how the gain and what stands beside it came about."""
        runs = tuple(
            Why(
                name=f"seed {seed}",
                value=1 - theirs / ours,
                how="1 - best / default",
                parts=(
                    Why(name="default", value=ours, unit="s"),
                    Why(name="best", value=theirs, unit="s"),
                ),
            )
            for seed, ours, theirs in zip(
                self.seeds, self.default.runs, self.best.runs, strict=True
            )
        )
        how = "mean over seeds that the search did not see, each pair on the same traffic"
        student = Source(
            citation="Student's t, 95 %, n - 1 degrees of freedom", confidence="derived"
        )
        return {
            "gain": Why(name="gain", value=self.gain.mean, how=how, source=student, parts=runs),
            "best": Why(
                name="best settings",
                value=self.best.mean,
                unit="s",
                how="as the search found them",
                parts=tuple(
                    Why(name=knob.name, value=self.best.values.get(knob.name, knob.default))
                    for knob in self.space.knobs
                ),
            ),
            "trials": Why(
                name="trials",
                value=len(self.found.trials),
                how="an even start, a quarter of each rung on the next, then a local search",
            ),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        asked = self.settings
        marking = self.buffers.settings.marking
        return {
            "objective": self.objective,
            "meaning": MEANINGS[self.objective],
            "unit": "s",
            "verdict": self.verdict,
            "better": self.is_better,
            "default": self.default.to_json(),
            "presets": [
                {**one.to_json(), "gain": self.preset_gains[one.name].mean} for one in self.presets
            ],
            "best": {
                **self.best.to_json(),
                "published": self.chosen,
                "kmin_bytes": marking.kmin_bytes,
                "kmax_bytes": marking.kmax_bytes,
                "xoff_at_bytes": self.buffers.settings.xoff_at_bytes,
            },
            "gain": self.gain.mean,
            "gain_low": self.gain.low,
            "gain_high": self.gain.high,
            "trials": len(self.found.trials),
            "simulations": self.num_simulations,
            "seeds": list(self.seeds),
            "jitter_s": self.jitter_s,
            "max_pause_share": self.limits.max_pause_share,
            "knobs": [knob.to_json() for knob in self.space.knobs],
            "sensitivity": [one.to_json() for one in self.sensitivity],
            "breaks": [one.to_json() for one in self.breaks],
            "settings": asked.model_dump() if isinstance(asked, OwnSettings) else asked,
        }
