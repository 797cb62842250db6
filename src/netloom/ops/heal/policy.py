"""Whether a plan runs by itself, asks, or must not happen, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.fabric.part_id import PartId
    from netloom.ops.heal.plan import HealPlan
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.ops.locate.findings import Finding
    from netloom.spec.heal import HealPolicy

__all__ = ["Decision", "Verdict", "certainty", "decide"]

Verdict = Literal["run", "ask", "refuse"]
TAKING: Final = frozenset(
    {"drain", "shut", "cordon", "restart-job"}
)  # something is lost if they are wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What policy says of a plan.

    Attributes:
        verdict: ``run`` by itself, ``ask`` first, or ``refuse`` in any case.
        reasons: Why it does not run by itself.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()


def decide(
    plan: HealPlan,
    sight: Snapshot,
    policy: HealPolicy,
    *,
    now_s: float,
    last_act_s: Mapping[PartId, float],
) -> Decision:
    """Return what becomes of *plan*.

    Args:
        plan: With its predicted effect.
        sight: The observations that it follows from.
        policy: What is allowed.
        now_s: Seconds since 1970.
        last_act_s: When each part was last acted on.
    """
    never = tuple(_never(plan, sight, policy, now_s))
    if never:
        return Decision(verdict="refuse", reasons=never)
    asks = (*_doubts(plan, sight, policy), *_limits(plan, policy))
    asks += tuple(_habits(plan, policy, now_s, last_act_s))
    return Decision(verdict="ask" if asks else "run", reasons=asks)


def _never(plan: HealPlan, sight: Snapshot, policy: HealPolicy, now_s: float) -> Iterator[str]:
    """Yield what no consent changes: old data, sources at odds, too much capacity away."""
    age_s = now_s - sight.taken_s
    if not 0 <= age_s <= policy.most_age_s:
        yield f"the observations are {age_s:.1f} s old, not 0 to {policy.most_age_s:g}; look again"
    for dispute in sight.disputes:
        if _concerns(plan, dispute.part):
            yield f"sources disagree on {dispute.part} ({'; '.join(dispute.says)}); look again"
    effect = plan.effect
    takes_more = effect.takes_more
    if takes_more and effect.away_after.share > policy.most_capacity_away:
        yield (
            f"{effect.away_after.share:.1%} of the capacity would be away, more than "
            f"{policy.most_capacity_away:.1%}; repair something first"
        )
    if takes_more and effect.away_after.uplink_share > policy.most_uplinks_away:
        yield (
            f"a switch would be without {effect.away_after.uplink_share:.0%} of its uplinks, more "
            f"than {policy.most_uplinks_away:.0%}; repair something first"
        )
    if takes_more and effect.cuts_off:
        yield "it would cut a host off"
    yield from _too_few_nodes(plan, sight, policy)


def _too_few_nodes(plan: HealPlan, sight: Snapshot, policy: HealPolicy) -> Iterator[str]:
    own = {act.part for act in plan.acts if act.verb == "cordon"}
    away = own | set(sight.cordoned)
    if own - set(sight.cordoned) and len(away) > policy.most_nodes_away * sight.num_nodes > 0:
        yield (
            f"{len(away)} of {sight.num_nodes} machines would take no jobs, more than "
            f"{policy.most_nodes_away:.0%}; repair something first"
        )


def _concerns(plan: HealPlan, part: PartId) -> bool:
    return part in {plan.finding.part.whole, *(act.part for act in plan.acts)}


def _doubts(plan: HealPlan, sight: Snapshot, policy: HealPolicy) -> Iterator[str]:
    sure = certainty(plan.finding)
    if sure < policy.least_confidence:
        yield f"only {sure:.0%} sure, less than {policy.least_confidence:.0%}"
    if (plan.finding.part.whole, plan.finding.kind) in sight.unconfirmed:
        yield "the watch has found it, and a fresh look has not"
    if any(act.verb in TAKING for act in plan.acts):
        for doubt in sight.doubts:
            yield f"not all could be seen: {doubt}"


def certainty(finding: Finding) -> float:
    """Return how sure it is that the part is to blame, whichever of its directions."""
    own = finding.part.whole
    same = sum(share for part, share in finding.rivals if part.whole == own)
    return min(1.0, finding.confidence + same)


def _limits(plan: HealPlan, policy: HealPolicy) -> Iterator[str]:
    slowdown = plan.effect.slowdown
    if slowdown > policy.most_slowdown and not plan.is_for_people:  # a ticket costs no one time
        what = "trial flows" if plan.effect.step_before_s is None else "a step of the job"
        yield (
            f"{what} would not end"
            if math.isinf(slowdown)
            else f"{what} would take {slowdown:.1%} longer than now, more than "
            f"{policy.most_slowdown:.1%}"
        )
    if plan.effect.num_nodes > policy.most_nodes:
        yield f"it takes {plan.effect.num_nodes} machines from jobs, more than {policy.most_nodes}"


def _habits(
    plan: HealPlan, policy: HealPolicy, now_s: float, last_act_s: Mapping[PartId, float]
) -> Iterator[str]:
    others = [act.verb for act in plan.acts if act.verb not in policy.by_itself]
    if others:
        yield f"policy asks before {' or '.join(dict.fromkeys(others))}"
    for act in plan.acts:
        since_s = now_s - last_act_s.get(act.part, float("-inf"))
        if act.verb != "ticket" and since_s < policy.quiet_s:
            yield f"{act.part} was acted on {since_s:.0f} s ago; it may not be the cause"
