"""From findings to plans: which acts would help, each tried on the flow engine first."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.fabric import edit
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_of
from netloom.fabric.part_id import CABLE, PartId
from netloom.ops.locate.faults import FaultKind, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from netloom.fabric.graph import Fabric
    from netloom.ops.heal.effect import Away, PlanEffect, PlanTrial
    from netloom.ops.locate.findings import Finding
    from netloom.spec.heal import Verb

__all__ = ["NAME_DIGITS", "VERBS", "Act", "HealPlan", "plan_by", "plans_of"]

NAME_DIGITS: Final = 12  # 48 bits: two plans of a site do not share a name

# What each does, in words; the order is that of the documentation.
VERBS: Final[dict[Verb, str]] = {
    "drain": "let routes avoid a cable or a switch",
    "shut": "shut the ports of a cable",
    "reroute": "let routing work around a part that is down",
    "rebalance": "spread routes again over all cables",
    "cordon": "let no job start on a machine",
    "fail-over": "see that every subnet has a master manager again",
    "repair-fib": "install the routes that the kernel lost",
    "restart-job": "restart jobs from their last checkpoint, without a machine",
    "ticket": "leave work for people",
}
# Kinds that a part in use makes worse for everybody who crosses it.
SICK: Final = frozenset(
    {
        FaultKind.LOSS.value,
        FaultKind.LARGE_LOSS.value,
        FaultKind.BLACK_HOLE.value,
        FaultKind.SLOW.value,
        FaultKind.DELAY.value,
        Trouble.SYMBOL_ERRORS.value,
        Trouble.WRONG_SPEED.value,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One thing to do.

    Attributes:
        verb: What.
        part: To which: a cable, a switch, a node or a subnet manager, whole.
    """

    verb: Verb
    part: PartId

    @property
    def name(self) -> str:
        """Both, as the log has them: ``drain cable:40``."""
        return f"{self.verb} {self.part}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealPlan:
    """What to do about one finding.

    Attributes:
        finding: What it is about.
        acts: In the order they are carried out; undone in the opposite one.
        effect: What the flow engine says of them.
        requests: What would be sent to devices, where that is known beforehand.
    """

    finding: Finding
    acts: tuple[Act, ...]
    effect: PlanEffect
    requests: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The plan's name: equal for equal findings, acts, requests and predicted effects.

        Of the finding it is the part and the kind, of the effect what is taken away: measured
        rates and predicted times differ a little with every look.
        """
        effect = self.effect
        told = {
            "version": 1,
            "finding": [str(self.finding.part.whole), self.finding.kind],
            "acts": [act.name for act in self.acts],
            "requests": list(self.requests),
            "effect": [
                *(_digest(_shares(one)) for one in (effect.away_before, effect.away_after)),
                effect.num_nodes,
                effect.cuts_off,
            ],
        }
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]

    @property
    def is_for_people(self) -> bool:
        """Whether nothing in the network is touched."""
        return all(act.verb == "ticket" for act in self.acts)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/heal.md documents."""
        effect = self.effect
        return {
            "fingerprint": self.fingerprint,
            "finding": self.finding.to_json(),
            "requests": list(self.requests),
            "acts": [{"verb": act.verb, "part": str(act.part)} for act in self.acts],
            "effect": {
                "healthy_s": effect.healthy_s,
                "before_s": effect.before_s,
                "after_s": effect.after_s,
                "step_before_s": effect.step_before_s,
                "step_after_s": effect.step_after_s,
                "capacity_away_before": _shares(effect.away_before),
                "capacity_away_after": _shares(effect.away_after),
                "nodes": effect.num_nodes,
                "cuts_off": effect.cuts_off,
            },
        }


def _shares(away: Away) -> dict[str, float]:
    return {"share": away.share, "uplink_share": away.uplink_share, "nic_ports": away.num_ports}


def _digest(shares: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 6) for key, value in shares.items()}


def plans_of(
    trial: PlanTrial,
    findings: Sequence[Finding],
    able: Collection[Verb],
    can: Callable[[Act], bool] = lambda _: True,
) -> tuple[HealPlan, ...]:
    """Return a plan for each finding, in their order.

    Each is tried by itself, on the fabric as it is now; two may together take too much away, so
    policy looks at what is away each time before one is carried out.

    Args:
        trial: The fabric, and the traffic to try plans with.
        findings: What is wrong.
        able: What can be done here; where nothing that helps can be, a ticket is left.
        can: Whether it can be done to that part, such as to a device that may be written to.
    """
    return tuple(
        plan_by(
            trial,
            finding,
            [a for a in _acts(trial.designed, finding) if a.verb in able and can(a)],
        )
        for finding in findings
    )


def plan_by(trial: PlanTrial, finding: Finding, wanted: Sequence[Act]) -> HealPlan:
    """Return the plan to do *wanted* about a finding, tried on the fabric as it is now."""
    acts = tuple(wanted) or (Act(verb="ticket", part=finding.part.whole),)
    then, nodes = trial.now, set[PartId]()
    for act in acts:
        if act.verb in ("drain", "shut"):
            then = edit.drain(then, act.part)
        elif act.verb == "repair-fib":
            then = edit.slow(then, act.part, 1.0)
        elif act.verb == "rebalance":
            then = edit.restore(then, act.part)
        elif act.verb == "cordon":
            nodes.add(act.part)
    return HealPlan(finding=finding, acts=acts, effect=trial.effect(then, num_nodes=len(nodes)))


def _acts(fabric: Fabric, finding: Finding) -> Iterable[Act]:
    part = finding.part.whole
    is_small = finding.kind == Trouble.WRONG_MTU and part.kind in {CABLE, "nic"}
    if finding.kind in SICK or is_small:
        yield from _sick(fabric, part)
    elif finding.kind in (Trouble.MISSING, Trouble.SILENT):
        yield from _down(fabric, part)
    elif finding.kind == Trouble.UNUSED:
        yield Act(verb="rebalance", part=part)
    elif finding.kind == FaultKind.LOST_PATHS:
        yield Act(verb="repair-fib", part=part)
    elif finding.kind == Trouble.NO_MANAGER:
        yield Act(verb="fail-over", part=part)
    elif finding.kind == FaultKind.PAUSE_STORM and _nodes(fabric, part):
        yield from _leave(fabric, part)
    else:  # miswired, a storm out of a switch, and what is not known yet
        yield Act(verb="ticket", part=part)


def _sick(fabric: Fabric, part: PartId) -> Iterable[Act]:
    """Yield how to do without a part that works badly."""
    if _nodes(fabric, part):
        yield from _leave(fabric, part)
    else:
        yield Act(verb="drain", part=part)
        yield Act(verb="ticket", part=part)


def _down(fabric: Fabric, part: PartId) -> Iterable[Act]:
    """Yield what to do about a part that is gone: routes, or the machines behind it."""
    if _nodes(fabric, part):
        yield from _leave(fabric, part)
    else:
        yield Act(verb="reroute", part=part)
        yield Act(verb="ticket", part=part)


def _leave(fabric: Fabric, part: PartId) -> Iterable[Act]:
    """Yield how jobs leave the machines that hang on a part: there is no other way to them."""
    for node in _nodes(fabric, part):
        yield Act(verb="cordon", part=PartId.node(node))
    for node in _nodes(fabric, part):
        yield Act(verb="restart-job", part=PartId.node(node))
    yield Act(verb="ticket", part=part)


def _nodes(fabric: Fabric, part: PartId) -> tuple[int, ...]:
    """Return the machines that lose a NIC port with *part*: those at the ends of its cables."""
    if part.kind == CABLE:
        up = 2 * part.index
        ends = [int(fabric.link_source[up]), int(fabric.link_target[up])]
    else:
        vertex = vertex_of(fabric, part)
        near = fabric.link_target[fabric.link_source == vertex].tolist()
        ends = [vertex, *near]
    ports = [end for end in ends if fabric.vertex_kind[end] == VertexKind.NIC]
    return tuple(sorted({int(fabric.vertex_node[port]) for port in ports}))
