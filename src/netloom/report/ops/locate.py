"""Findings as text: the suspects, most certain first, with their evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from netloom.ops.observe.devices import printable
from netloom.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.ops.locate.findings import Finding
    from netloom.ops.observe.cases import Case

__all__ = ["cases_text", "finding_lines", "findings_text", "nothing"]

STALE_S: Final = 300.0  # a look every 10 s is usual; assumed


def findings_text(findings: Sequence[Finding], *, num_flows: int) -> RenderableType:
    """Return what ``netloom locate`` prints."""
    if not findings:
        return Text(nothing(num_flows), style="green")
    return Group(*(_finding(rank, one) for rank, one in enumerate(findings, start=1)))


def nothing(num_flows: int) -> str:
    """Return that no part is suspected."""
    return f"Nothing is broken that {num_flows:,} flows could tell."


def cases_text(
    cases: Sequence[Case], *, now_s: float, looked_s: float | None, failing: Sequence[str]
) -> str:
    """Return what a watch found: those that are open, the surest first, then those that are over.

    Then why there may be more. Times are UTC.

    Args:
        cases: From a store.
        now_s: The time.
        looked_s: Of the last look; 0 before there was one, None where that is not known.
        failing: Sources whose last look failed.
    """
    still = sorted((one for one in cases if one.closed_s is None), key=lambda one: -one.confidence)
    over = [one for one in cases if one.closed_s is not None]
    lines = [line for one in (*still, *over) for line in _case(one)]
    if looked_s == 0:
        return "\n".join([*lines, "The watch has not looked yet: nothing is known."])
    lines = lines or ["Nothing is broken that the watch could tell."]
    if looked_s is not None and now_s - looked_s > STALE_S:
        last = _time(looked_s)
        lines.append(f"not known: what happened since the last look, {last}; does the watch run?")
    lines += [
        f"not known: what {printable(name, 200)} would tell; the last look at it failed"
        for name in failing
    ]
    return "\n".join(lines)


def _case(one: Case) -> list[str]:
    until = "open" if one.closed_s is None else f"until {_time(one.closed_s)}"
    head = f"{one.label}: {one.kind}, {one.confidence:.0%} sure, {_time(one.opened_s)} {until}"
    return [head, *(f"   - {text}" for text in one.evidence)]


def _time(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _finding(rank: int, one: Finding) -> RenderableType:
    head = Text.assemble(
        (f"{rank}. {one.part}", "bold"), f": {one.kind}, ", (f"{one.confidence:.0%} sure", "bold")
    )
    body = (Padding(Text(f"- {line}"), (0, 0, 0, 3)) for line in finding_lines(one))
    return Group(head, *body)


def finding_lines(one: Finding) -> list[str]:
    """Return the evidence, who is hurt, what a repair saves, and what else it may be."""
    lines = [*one.evidence, f"hurts {format_count(len(one.hurts), 'GPU')}"]
    if one.predicted_gain > 0:
        lines.append(f"repairing it saves {one.predicted_gain:.1%} of their flows' time")
    return lines + [f"or {part} ({share:.0%})" for part, share in one.rivals if share >= 0.01]
