"""A rolling drain as text: step by step, what is out of use and what the job loses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.ops.observe.devices import printable
from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.ops.drain.rolling import DrainStep, RollingDrain

__all__ = ["drain_text"]

MAX_NAMED = 4
_VERDICTS = {"run": "runs", "ask": "asks", "refuse": "refused"}


def drain_text(plan: RollingDrain) -> RenderableType:
    """Return what ``netloom roll`` prints."""
    if not plan.steps:
        return Text("There is no switch to drain.")
    reasons = list(dict.fromkeys(reason for step in plan.steps for reason in step.reasons))
    table = Table("step", "out of use", "job", "flows", "away", "policy", show_edge=False)
    for number, step in enumerate(plan.steps, start=1):
        why = ", ".join(str(reasons.index(reason) + 1) for reason in step.reasons)
        table.add_row(
            f"{number}{' canary' if number == 1 else ''}",
            _parts(step),
            _job(step),
            _flows(step),
            f"{step.effect.away_after.share:.1%}",
            _VERDICTS[step.verdict] + (f" ({why})" if why else ""),
        )
    notes = (Text(f"({number}) {reason}") for number, reason in enumerate(reasons, start=1))
    return Group(table, *notes, *(Text(line) for line in _sums(plan)))


def _flows(step: DrainStep) -> str:
    change = step.flow_slowdown
    return "cut off" if math.isinf(change) else f"{change:+.1%}"


def _sums(plan: RollingDrain) -> list[str]:
    num_stopping = sum(step.stops_job for step in plan.steps)
    num_refused = sum(step.verdict == "refuse" for step in plan.steps)
    why = printable(plan.reason, 200)  # a person's words, which move no cursor
    takes, lost = (format_quantity(time_s, TIME) for time_s in (plan.takes_s, plan.lost_s))
    return [
        f"For {why}: {len(plan.steps)} steps, {takes} in all; the job loses {lost}.",
        f"{num_stopping} steps stop the job, {num_refused} are refused by policy.",
    ]


def _parts(step: DrainStep) -> str:
    names = [str(part) for part in step.parts]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    text = ", ".join(names[:MAX_NAMED]) + more
    return f"{text} ({len(step.nodes)} nodes)" if step.nodes else text


def _job(step: DrainStep) -> str:
    if step.stops_job:
        return "stops" if not step.nodes else "leaves the nodes, or stops"
    effect = step.effect
    before_s, after_s = effect.step_before_s, effect.step_after_s
    if before_s is None or after_s is None or math.isinf(before_s):
        return "none known"
    tried = f" (as {step.like})" if step.like is not None else ""
    times = " to ".join(format_quantity(time_s, TIME) for time_s in (before_s, after_s))
    return f"step {times}, {step.slowdown:+.1%}{tried}"
