"""Healing as jobs of a server: what is healed, which plan, who asks.

No page can ask for them by kind: the server fills in what they act on.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from netloom.app.jobs.kind import JobKind, JobOptions

__all__ = ["HEAL_APPLY", "HEAL_PLAN", "HEAL_UNDO", "HealPlaceOptions"]

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


HEAL_PLAN: Final = JobKind(options=HealPlanOptions, run="netloom.app.jobs.heal_runs:heal_plan_job")
HEAL_APPLY: Final = JobKind(
    options=HealApplyOptions, run="netloom.app.jobs.heal_runs:heal_apply_job", touches_fabric=True
)
HEAL_UNDO: Final = JobKind(
    options=HealUndoOptions, run="netloom.app.jobs.heal_runs:heal_undo_job", touches_fabric=True
)
