"""Healing as jobs of a server: plan, apply and undo, each in a process of its own.

No page can ask for them by kind: the server fills in what they act on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from netloom.app import audit, heal
from netloom.app.heal.run import BY_REQUEST, able
from netloom.app.jobs.kind import JobKind, JobOptions
from netloom.app.locate.lab import clock_s
from netloom.errors import InfeasibleError, LabError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.plan import Act
from netloom.results.plain import to_plain
from netloom.spec.load import load

if TYPE_CHECKING:
    from netloom.app.heal import HealReport, HealTarget
    from netloom.app.heal.site import HealSite
    from netloom.app.jobs.kind import JsonResult
    from netloom.spec.heal import HealPolicy

__all__ = ["HEAL_APPLY", "HEAL_PLAN", "HEAL_UNDO", "HealPlaceOptions"]

MOST_WAIT_S: Final = 60.0  # from the click to the act; what waits longer is asked for again
Text = Annotated[str, Field(max_length=4096)]


class HealPlaceOptions(JobOptions):
    """What is healed: a lab by its name, or the devices of an inventory; empty for none."""

    scenario: Text
    lab: Text = ""
    inventory: Text = ""
    folder: Text = ""
    names: Text = ""
    ports: Text = ""
    policy: Text = ""
    store: Text = ""

    def site(self) -> HealSite:
        """Return it."""
        return heal.site_of(
            load(self.scenario),
            lab=self.lab or None,
            inventory=_path(self.inventory),
            folder=_path(self.folder),
            naming=audit.naming_from(_path(self.names), _path(self.ports)),
        )

    def rules(self) -> HealPolicy:
        """Return what may be done there."""
        return heal.policy_from(_path(self.policy))


class HealPlanOptions(HealPlaceOptions):
    """Parts that a person may want drained, though their finding does not ask for it."""

    drains: Annotated[tuple[Text, ...], Field(max_length=16)] = ()


class HealApplyOptions(HealPlaceOptions):
    """Which plan, who approves it, and when."""

    fingerprint: Text
    case: Text = ""
    by: Text
    asked_s: float


class HealUndoOptions(HealPlaceOptions):
    """Which act, who asks, and when."""

    number: Annotated[int, Field(ge=1)]
    case: Text = ""
    by: Text
    asked_s: float


@dataclass(frozen=True, slots=True)
class _Told:
    """A result that is JSON already."""

    told: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return it."""
        return self.told


def _path(text: str) -> Path | None:
    return Path(text) if text else None


@lru_cache(maxsize=2)
def _target(scenario: str, changed_ns: int) -> HealTarget:
    del changed_ns
    return heal.target_of(load(scenario))


def _target_of(options: HealPlaceOptions) -> HealTarget:
    return _target(options.scenario, Path(options.scenario).stat().st_mtime_ns)


def _plan(_: object, options: HealPlanOptions, __: object) -> JsonResult:
    site, policy = options.site(), options.rules()
    asked = tuple(Act(verb="drain", part=PartId.parse(part)) for part in options.drains)
    possible = able(site, policy)
    order = heal.HealOrder(
        policy=policy,
        store=_path(options.store),
        asked=tuple(act for act in asked if act.verb in possible and site.can(act)),
    )
    return _told(heal.plan(_target_of(options), site, order=order))


def _apply(_: object, options: HealApplyOptions, __: object) -> JsonResult:
    _refuse_late(options.asked_s)
    report = heal.apply(
        _target_of(options),
        options.fingerprint,
        options.site(),
        by=options.by,
        order=heal.HealOrder(policy=options.rules(), store=_path(options.store)),
    )
    _raise_unless_done(report, options.fingerprint)
    return _told(report)


def _undo(_: object, options: HealUndoOptions, __: object) -> JsonResult:
    _refuse_late(options.asked_s)
    return heal.undo(options.number, site=options.site(), policy=options.rules(), by=options.by)


def _refuse_late(asked_s: float) -> None:
    """Refuse what waited too long, as one that a server which ended left behind.

    Raises:
        InfeasibleError: it did.
    """
    late_s = clock_s() - asked_s
    if late_s > MOST_WAIT_S:
        raise InfeasibleError(
            what=f"it was approved {late_s:.0f} s ago, and nothing was done",
            remedy="approve it again",
        )


def _raise_unless_done(report: HealReport, name: str) -> None:
    """Let the job fail, with the reason, unless its plan was carried out and helped."""
    if report.stale:
        raise InfeasibleError(what=f"the plan is stale: {report.stale[0].says}")
    step = next(one for one in report.steps if one.plan.fingerprint == name)
    if step.outcome is None:
        raise InfeasibleError(what=f"refused: {'; '.join(step.decision.reasons)}")
    if step.outcome.result in ("undone", "stuck"):
        raise LabError(what=f"it did not help: {'; '.join(step.outcome.says)}")


def _told(report: HealReport) -> _Told:
    told = to_plain(report.to_json())
    for plan in told["plans"]:
        plan["by_request"] = plan["finding"]["kind"] == BY_REQUEST
    return _Told(told)


HEAL_PLAN: Final = JobKind(options=HealPlanOptions, run=_plan)
HEAL_APPLY: Final = JobKind(options=HealApplyOptions, run=_apply, touches_fabric=True)
HEAL_UNDO: Final = JobKind(options=HealUndoOptions, run=_undo, touches_fabric=True)
