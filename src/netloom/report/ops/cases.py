"""Cases as text for the person on call: what is open, what was done, by whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from netloom.ops.cases.remedies import remedy_of, severity_of
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.ops.cases.maintenance import MaintenanceWindow
    from netloom.ops.cases.people import CaseState
    from netloom.ops.observe.case_audit import AuditEntry
    from netloom.ops.observe.cases import Case

__all__ = ["audit_text", "list_text", "story_text", "window_text"]


def list_text(cases: Sequence[tuple[Case, CaseState]], windows: Iterable[MaintenanceWindow]) -> str:
    """Return a line for each case and each window; times are UTC."""
    lines = [f"{head(case)}; {_people(case, state)}" for case, state in cases]
    lines = lines or ["no case is open"]
    return "\n".join([*lines, *(window_text(one) for one in windows)])


def story_text(case: Case, state: CaseState, lines: Iterable[AuditEntry]) -> str:
    """Return a case with its evidence, what to do, and what was done."""
    return "\n".join(
        [
            head(case),
            f"   {_people(case, state)}",
            f"   hurts {case.hurts:,} GPUs",
            *(f"   - {printable(text, 400)}" for text in case.evidence),
            f"   do: {remedy_of(case.kind)}",
            *(f"   {_line(one)}" for one in lines),
        ]
    )


def head(case: Case) -> str:
    """Return what a case is, in a line."""
    until = "" if case.closed_s is None else f" to {_time(case.closed_s)}"
    return (
        f"case {case.number} ({severity_of(case.kind)}): {printable(case.label, 200)}: "
        f"{case.kind}, {case.confidence:.0%} sure, since {_time(case.opened_s)}{until}"
    )


def window_text(one: MaintenanceWindow) -> str:
    """Return a window, in a line."""
    drained = ", drained" if one.is_drained else ""
    return (
        f"window {one.number}: {one.part}{drained}, {_time(one.start_s)} to {_time(one.end_s)}, "
        f"{one.by}: {one.why}"
    )


def audit_text(lines: Iterable[AuditEntry]) -> str:
    """Return a line for each line of the audit."""
    return "\n".join([_line(one) for one in lines] or ["nothing was done"])


def _people(case: Case, state: CaseState) -> str:
    if case.planned:
        return f"planned: {case.planned}"
    seen = (
        f"acknowledged by {state.acknowledged_by}" if state.acknowledged_by else "not acknowledged"
    )
    return f"{seen}, {f'assigned to {state.assignee}' if state.assignee else 'not assigned'}"


def _line(one: AuditEntry) -> str:
    about = f" case {one.case}" if one.case is not None else ""
    part = f" {one.part}" if one.part else ""
    said = f": {one.text}" if one.text else ""
    return f"{_time(one.time_s)} {one.who} ({one.login}) {one.act}{about}{part}{said}"


def _time(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
