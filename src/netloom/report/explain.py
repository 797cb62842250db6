"""A measured step beside its prediction, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from netloom.study.explain.explanation import Explanation, PhaseLine

__all__ = ["HEADINGS", "explanation_text", "headline", "line_cells", "verdict_lines"]

HEADINGS: Final = ("where the step goes", "predicted", "measured", "difference")
NO_CAUSE: Final = "No single cause is worth 2 % of the step."
NO_CHANGE: Final = (
    "No single change that netloom tries would make such a step; a trace says more (--trace)."
)
NO_NEED: Final = "Nothing needs explaining; a trace says where the time goes (--trace)."
MAX_VARIANTS: Final = 6


def explanation_text(found: Explanation) -> RenderableType:
    """Return what ``netloom explain`` prints."""
    parts: list[RenderableType] = [Text(headline(found), style="bold")]
    if found.lines:
        parts += ["", _table(found)]
    parts += ["", *_verdict(found)]
    doubts = found.prediction.step.validity.doubts
    if doubts:
        parts += ["", Text("The prediction is outside the range checked:", style="dim")]
        parts += [Padding(Text(f"- {one}", style="dim"), (0, 0, 0, 2)) for one in doubts]
    return Group(*parts)


def headline(found: Explanation) -> str:
    """Return both times in one line."""
    predicted_s = found.prediction.step.duration_s
    more = found.measured_s / predicted_s - 1
    said = (
        f"measured {_time(found.measured_s)}, predicted {_time(predicted_s)}: "
        f"{abs(more):.1%} {'longer' if more > 0 else 'shorter'}"
    )
    return f"{said}, {within}" if (within := _within(found)) else said


def _within(found: Explanation) -> str:
    """Return that the interval of the prediction holds what was measured; empty where not."""
    interval = found.prediction.step.interval
    if interval is None or not interval.low_s <= found.measured_s <= interval.high_s:
        return ""
    return f"within what was expected ({_time(interval.low_s)} to {_time(interval.high_s)})"


def _verdict(found: Explanation) -> Iterator[RenderableType]:
    if not found.causes:
        yield from verdict_lines(found)
    for one in found.causes:
        yield Text(f"{one.name}, worth {_time(one.worth_s)} a step: {one.what}")
        yield Padding(Text(one.remedy, style="dim"), (0, 0, 0, 4))


def verdict_lines(found: Explanation) -> list[str]:
    """Return the causes, or the changes that would make the step, a line each."""
    if found.variants:
        shown = found.variants[:MAX_VARIANTS]
        return [
            "Any one of these would make such a step (a trace or a log tells them apart):",
            *(f"{one.change}: {_time(one.step_s)} ({one.off:+.1%})" for one in shown),
        ]
    if not found.causes:
        unexplained = "" if _within(found) else NO_CHANGE
        return [NO_CAUSE if found.lines else unexplained or NO_NEED]
    return [
        f"{one.name}, worth {_time(one.worth_s)} a step: {one.what}; {one.remedy}"
        for one in found.causes
    ]


def line_cells(line: PhaseLine) -> tuple[str, str, str, str]:
    """Return one phase as cells."""
    difference = "" if line.difference_s is None else f"{1e3 * line.difference_s:+,.1f}ms"
    return line.phase, _or_blank(line.predicted_s), _or_blank(line.measured_s), difference


def _table(found: Explanation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if number else "left")
    for line in found.lines:
        table.add_row(*line_cells(line))
    return table


def _or_blank(time_s: float | None) -> str:
    return "" if time_s is None else _time(time_s)


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=4)
