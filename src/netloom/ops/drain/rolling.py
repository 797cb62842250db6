"""A rolling drain as a plan: each step tried on the flow engine, and judged by policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from netloom.fabric import edit
from netloom.fabric.graph import LinkState
from netloom.ops.drain.order import batches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.fabric.graph import Fabric
    from netloom.fabric.part_id import PartId
    from netloom.ops.drain.order import Batch
    from netloom.ops.heal.effect import PlanEffect, PlanTrial
    from netloom.spec.heal import HealPolicy

__all__ = ["DrainStep", "RollingDrain", "rolling_drain"]

DrainVerdict = Literal["run", "ask", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainStep:
    """Some switches out of use at a time.

    Attributes:
        parts: The switches.
        nodes: That lose a NIC port: no job may run on them meanwhile.
        effect: What the flow engine says.
        like: The first switch of an earlier step that this one is equal to, and was not tried
            itself; None where it was tried.
        takes_s: How long the switches are out of use.
        verdict: What policy says.
        reasons: Why it does not run by itself.
    """

    parts: tuple[PartId, ...]
    nodes: tuple[int, ...]
    effect: PlanEffect
    like: PartId | None
    takes_s: float
    verdict: DrainVerdict
    reasons: tuple[str, ...]

    @property
    def stops_job(self) -> bool:
        """Whether the job cannot go on: nodes of it are cut off, or no path is left."""
        step_s = self.effect.step_after_s
        return self.effect.cuts_off or (step_s is not None and math.isinf(step_s))

    @property
    def slowdown(self) -> float:
        """How much longer a step of the job takes, or trial flows without a job; 0.25 is 25 %."""
        return math.inf if self.stops_job else max(0.0, self.effect.slowdown)

    @property
    def flow_slowdown(self) -> float:
        """How much longer the trial flows take, whatever the job does: what capacity is worth."""
        effect = self.effect
        if math.isinf(effect.after_s) or math.isinf(effect.before_s):
            return math.inf
        return effect.after_s / effect.before_s - 1

    @property
    def lost_s(self) -> float:
        """Time of the job that the step costs: all of it where the job stops."""
        if self.stops_job:
            return self.takes_s
        return self.takes_s * (1 - 1 / (1 + self.slowdown))

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/roll.md documents."""
        effect = self.effect
        return {
            "parts": [str(part) for part in self.parts],
            "nodes": list(self.nodes),
            "like": None if self.like is None else str(self.like),
            "takes_s": self.takes_s,
            "step_before_s": effect.step_before_s,
            "step_after_s": effect.step_after_s,
            "flows_before_s": effect.before_s,
            "flows_after_s": effect.after_s,
            "slowdown": self.slowdown,
            "flow_slowdown": self.flow_slowdown,
            "stops_job": self.stops_job,
            "lost_s": self.lost_s,
            "capacity_away": effect.away_after.share,
            "uplinks_away": effect.away_after.uplink_share,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingDrain:
    """Every switch once, in order.

    Attributes:
        reason: What it is for.
        steps: The first is the canary.
        soak_s: How long the canary is watched before the next step.
    """

    reason: str
    steps: tuple[DrainStep, ...]
    soak_s: float

    @property
    def takes_s(self) -> float:
        """From the first drain to the end of the last."""
        return sum(step.takes_s for step in self.steps) + (self.soak_s if self.steps else 0.0)

    @property
    def lost_s(self) -> float:
        """Time of the job that all of it costs."""
        return sum(step.lost_s for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/roll.md documents."""
        return {
            "for": self.reason,
            "steps": [step.to_json() for step in self.steps],
            "canary": str(self.steps[0].parts[0]) if self.steps else None,
            "soak_s": self.soak_s,
            "takes_s": self.takes_s,
            "lost_s": self.lost_s,
            "num_refused": sum(step.verdict == "refuse" for step in self.steps),
            "num_stopping": sum(step.stops_job for step in self.steps),
        }


def rolling_drain(  # noqa: PLR0913  (what, how long, and what is allowed)
    trial: PlanTrial,
    policy: HealPolicy,
    *,
    reason: str,
    takes_s: float,
    soak_s: float,
    at_once: int = 1,
    max_tried: int = 64,
    on_step: Callable[[int, int], object] | None = None,
) -> RollingDrain:
    """Return the plan.

    Args:
        trial: The fabric as it is, and the traffic or the job to try steps with.
        policy: Its limits on capacity, uplinks, nodes and slowdown hold for each step.
        reason: What it is for, in a word.
        takes_s: How long a step keeps its switches out of use.
        soak_s: How long the canary is watched.
        at_once: Switches without hosts in one step.
        max_tried: Steps that are tried each; with more, of equal ones the first only.
        on_step: Told how many steps are done, of how many.
    """
    batches = batches_of(trial.designed, at_once=at_once)
    tried: dict[tuple[float, ...], tuple[PartId, PlanEffect]] = {}
    steps = []
    for number, batch in enumerate(batches):
        parts, nodes = batch
        then = _without(trial.now, parts)
        key = _shape(trial.now, then, batch)
        like: PartId | None = None
        if len(batches) > max_tried and key in tried:
            like, effect = tried[key]
        else:
            effect = trial.effect(then, num_nodes=len(nodes))
            tried.setdefault(key, (parts[0], effect))
        refused = tuple(_never(effect, policy, nodes))
        asked = tuple(_asks(effect, policy, nodes))
        steps.append(
            DrainStep(
                parts=parts,
                nodes=nodes,
                effect=effect,
                like=like,
                takes_s=takes_s,
                verdict="refuse" if refused else "ask" if asked else "run",
                reasons=(*refused, *asked),
            )
        )
        if on_step is not None:
            on_step(number + 1, len(batches))
    return RollingDrain(reason=reason, steps=tuple(steps), soak_s=soak_s)


def _without(fabric: Fabric, parts: tuple[PartId, ...]) -> Fabric:
    """Return a fabric without some switches; a cable that is down already stays so."""
    for part in parts:
        fabric = edit.fail(fabric, part)
    return fabric


def _shape(now: Fabric, then: Fabric, batch: Batch) -> tuple[float, ...]:
    """Return what tells steps apart: switches, nodes, and the links that go, with their rates."""
    gone = (now.link_state == LinkState.UP) & (then.link_state != LinkState.UP)
    tiers = np.minimum(now.vertex_tier[now.link_source], now.vertex_tier[now.link_target])[gone]
    counts = np.bincount(tiers.astype(int) + 1, minlength=1).tolist()
    return (len(batch[0]), len(batch[1]), float(now.link_rate_bps[gone].sum()), *counts)


def _never(effect: PlanEffect, policy: HealPolicy, nodes: tuple[int, ...]) -> Iterator[str]:
    """Give what no consent changes."""
    after = effect.away_after
    if after.share > policy.most_capacity_away:
        yield (
            f"{after.share:.1%} of the capacity between switches would be away, more than "
            f"{policy.most_capacity_away:.1%}"
        )
    if not nodes and after.uplink_share > policy.most_uplinks_away:
        yield (
            f"a switch would be without {after.uplink_share:.0%} of its uplinks, more than "
            f"{policy.most_uplinks_away:.0%}"
        )
    if not nodes and effect.cuts_off:
        yield "it would cut a host off"


def _asks(effect: PlanEffect, policy: HealPolicy, nodes: tuple[int, ...]) -> Iterator[str]:
    """Give what needs consent."""
    if "drain" not in policy.by_itself:
        yield "policy asks before drain"
    if len(nodes) > policy.most_nodes:
        yield f"jobs leave {len(nodes)} nodes first, more than {policy.most_nodes}"
    elif not nodes and effect.slowdown > policy.most_slowdown:
        what = "trial flows" if effect.step_before_s is None else "a step of the job"
        yield f"{what} takes {effect.slowdown:.1%} longer, more than {policy.most_slowdown:.1%}"
