"""How healing runs as jobs of a server: plan, apply and undo, each in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.app import audit, heal
from netloom.app.heal.run import BY_REQUEST, able
from netloom.app.locate.lab import clock_s
from netloom.errors import InfeasibleError, LabError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.plan import Act
from netloom.results.plain import to_plain
from netloom.spec.load import load

if TYPE_CHECKING:
    from netloom.app.heal import HealReport, HealTarget
    from netloom.app.heal.site import HealSite
    from netloom.app.jobs.heal_kinds import (
        HealApplyOptions,
        HealPlaceOptions,
        HealPlanOptions,
        HealUndoOptions,
    )
    from netloom.app.jobs.kind import JsonResult
    from netloom.spec.heal import HealPolicy

__all__ = ["heal_apply_job", "heal_plan_job", "heal_rules", "heal_site", "heal_undo_job"]

MOST_WAIT_S: Final = 60.0  # from the click to the act; what waits longer is asked for again


@dataclass(frozen=True, slots=True)
class _Told:
    """A result that is JSON already."""

    told: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return it."""
        return self.told


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def heal_site(options: HealPlaceOptions) -> HealSite:
    """Return what is healed."""
    return heal.site_of(
        load(options.scenario),
        lab=options.lab or None,
        inventory=_path(options.inventory),
        folder=_path(options.folder),
        naming=audit.naming_from(_path(options.names), _path(options.ports)),
    )


def heal_rules(options: HealPlaceOptions) -> HealPolicy:
    """Return what may be done there."""
    return heal.policy_from(_path(options.policy))


@lru_cache(maxsize=2)
def _target(scenario: str, changed_ns: int) -> HealTarget:
    del changed_ns
    return heal.target_of(load(scenario))


def _target_of(options: HealPlaceOptions) -> HealTarget:
    return _target(options.scenario, Path(options.scenario).stat().st_mtime_ns)


def heal_plan_job(_: object, options: HealPlanOptions, __: object) -> JsonResult:
    """Plan what the findings ask for, and drains that a person wants."""
    site, policy = heal_site(options), heal_rules(options)
    asked = tuple(Act(verb="drain", part=PartId.parse(part)) for part in options.drains)
    possible = able(site, policy)
    order = heal.HealOrder(
        policy=policy,
        store=_path(options.store),
        asked=tuple(act for act in asked if act.verb in possible and site.can(act)),
    )
    return _told(heal.plan(_target_of(options), site, order=order))


def heal_apply_job(_: object, options: HealApplyOptions, __: object) -> JsonResult:
    """Carry out the plan of that name."""
    _refuse_late(options.asked_s)
    report = heal.apply(
        _target_of(options),
        options.fingerprint,
        heal_site(options),
        by=options.by,
        order=heal.HealOrder(policy=heal_rules(options), store=_path(options.store)),
    )
    _raise_unless_done(report, options.fingerprint)
    return _told(report)


def heal_undo_job(_: object, options: HealUndoOptions, __: object) -> JsonResult:
    """Take an act back."""
    _refuse_late(options.asked_s)
    return heal.undo(
        options.number, site=heal_site(options), policy=heal_rules(options), by=options.by
    )


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
