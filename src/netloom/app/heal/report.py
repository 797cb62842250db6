"""What healing aims at, may do, and comes back with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from netloom.spec.heal import HealPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from netloom.app.heal.plans import SavedPlan
    from netloom.fabric.graph import Fabric
    from netloom.ops.heal.act import HealOutcome
    from netloom.ops.heal.plan import Act, HealPlan
    from netloom.ops.heal.policy import Decision
    from netloom.ops.heal.snapshot import Snapshot
    from netloom.parts.parts import Technology

__all__ = ["HealOrder", "HealReport", "HealStep", "HealTarget", "StalePlan"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HealTarget:
    """The network as it should be, and the job on it.

    Attributes:
        fabric: As designed.
        technology: Of it.
        step_s: How long the job's step takes on a fabric, infinite when it cannot run; plans are
            judged by it where it is given.
    """

    fabric: Fabric
    technology: Technology
    step_s: Callable[[Fabric], float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealOrder:
    """What one run may do.

    Attributes:
        policy: What runs by itself; nothing does with the default one.
        approved: Plans that a person approved: where there are any, these are carried out and no
            others.
        by: Who.
        watched: Hosts whose partitions are compared before and after.
        store: Of a watch: its open cases count beside what is seen now.
        asked: Acts that a person asks for; a plan is made for each.
        only_plans: Whether nothing is done, whatever policy says.
    """

    policy: HealPolicy = field(default_factory=HealPolicy)
    approved: tuple[SavedPlan, ...] = ()
    by: str = ""
    watched: tuple[str, ...] = ()
    store: Path | None = None
    asked: tuple[Act, ...] = ()
    only_plans: bool = False

    def approval(self, plan: HealPlan) -> SavedPlan | None:
        """Return the approved plan of the same name, if there is one."""
        return next((one for one in self.approved if one.name == plan.fingerprint), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealStep:
    """One plan, what policy says of it, and what came of it; None when it was not carried out."""

    plan: HealPlan
    decision: Decision
    outcome: HealOutcome | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/heal.md documents."""
        outcome = self.outcome
        return {
            **self.plan.to_json(),
            "verdict": self.decision.verdict,
            "reasons": list(self.decision.reasons),
            "outcome": outcome and {"result": outcome.result, "says": list(outcome.says)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StalePlan:
    """A plan that was approved and was not carried out: what it is about is not so any more.

    Attributes:
        name: Its fingerprint.
        says: Why.
    """

    name: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealReport:
    """One run.

    Attributes:
        sight: What was seen.
        steps: A plan for each finding.
        log: The file with what was done.
        took_s: Where the time went: ``look`` at the lab, ``try`` plans on the flow engine, and
            ``act``, with the waiting for OpenSM or BGP and the looking whether it helped.
        stale: Approved plans that a fresh look does not confirm.
    """

    sight: Snapshot
    steps: tuple[HealStep, ...]
    log: str
    took_s: Mapping[str, float] = field(default_factory=dict)
    stale: tuple[StalePlan, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether something was tried that did not help."""
        outcomes = (step.outcome for step in self.steps)
        return any(one is not None and one.result in ("undone", "stuck") for one in outcomes)

    @property
    def has_refused(self) -> bool:
        """Whether policy refused a plan, or an approved one is stale."""
        return bool(self.stale) or any(s.decision.verdict == "refuse" for s in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/heal.md documents."""
        sight = self.sight
        return {
            "taken_s": sight.taken_s,
            "plans": [step.to_json() for step in self.steps],
            "stale": [{"fingerprint": one.name, "says": one.says} for one in self.stale],
            "away": [str(part) for part in sight.away],
            "disputes": [{"part": str(d.part), "says": list(d.says)} for d in sight.disputes],
            "doubts": list(sight.doubts),
            "took_s": {key: round(value, 3) for key, value in self.took_s.items()},
            "log": self.log,
        }
