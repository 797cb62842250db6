"""All that the routes of one server work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.app.jobs.pool import JobPool
    from netloom.app.jobs.quick import QuickAnswers
    from netloom.app.live.healing import LiveHealing
    from netloom.app.live.steps import StepForecasts
    from netloom.app.live.twin import LiveTwin
    from netloom.app.scenarios import ScenarioFolder
    from netloom.web.audit import WebAudit
    from netloom.web.events import EventHub
    from netloom.web.rates import RateLimits
    from netloom.web.visitors import Sessions

__all__ = ["Workbench"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """One server's parts.

    Attributes:
        pool: Jobs that wait, run and ended.
        quick: Answers to what takes milliseconds.
        scenarios: Texts by name.
        hub: Tells pages what changed.
        sessions: Who may ask.
        rates: How often.
        audit: Who did what.
        twin: The fabric that is watched; None where the server shows none.
        steps: The job's step on it.
        healing: What can act on it; None where the server only shows.
        alertmanager: Its URL, for silences; empty for none.
    """

    pool: JobPool
    quick: QuickAnswers
    scenarios: ScenarioFolder
    hub: EventHub
    sessions: Sessions
    rates: RateLimits
    audit: WebAudit
    twin: LiveTwin | None = None
    steps: StepForecasts | None = None
    healing: LiveHealing | None = None
    alertmanager: str = ""
