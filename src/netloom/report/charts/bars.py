"""Horizontal bars as SVG: stacked, or side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.report.charts.model import HUES
from netloom.report.charts.scale import Scale, scale_of, text_width
from netloom.report.charts.svg import FONT_PX, grid, number, text, texture_of, tipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.report.charts.model import BarPart, Bars

__all__ = ["bar_text", "bars_svg"]

_TOP: Final = 6
_BOTTOM: Final = 44
_BAR_PX: Final = 20
_THIN_PX: Final = 15  # of bars side by side
_GAP_PX: Final = 12
_LABEL_PX: Final = 17  # a label above its bar
_WIDEST_LABEL: Final = 0.3  # of the picture, beside the bars


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Where bars go."""

    x: Scale
    left_px: float
    row_px: float
    labels_above: bool


def bars_svg(bars: Bars, *, width: float, num_ticks: int) -> tuple[list[str], float]:
    """Return the parts of the picture, and its height."""
    frame = _frame(bars, width)
    height = _TOP + frame.row_px * len(bars.labels) + _BOTTOM
    base = height - _BOTTOM
    fit = max(3, min(num_ticks, int((width - frame.left_px) / 80)))
    parts = [
        *grid(frame.x, fit, across=(_TOP, base), vertical=True),
        text((frame.left_px + width) / 2, height - 6, frame.x.title, style="n", anchor="middle"),
    ]
    for row, label in enumerate(bars.labels):
        top = _TOP + row * frame.row_px
        if frame.labels_above:
            parts.append(text(frame.left_px + 4, top + 13, label, style="b"))
            top += _LABEL_PX
        else:
            mid = top + frame.row_px / 2 + 4
            parts.append(text(frame.left_px - 8, mid, label, style="b", anchor="end"))
        top += _GAP_PX / 2
        parts += _stack(bars, row, top, frame) if bars.stacked else _side(bars, row, top, frame)
    return parts, height


def _frame(bars: Bars, width: float) -> _Frame:
    widest = max(text_width(label, FONT_PX) for label in bars.labels)
    above = widest > _WIDEST_LABEL * width
    left = 1.0 if above else widest + 10
    thick = _BAR_PX if bars.stacked or len(bars.parts) == 1 else _THIN_PX * len(bars.parts)
    room = max(text_width(one, FONT_PX) for one in _end_texts(bars)) + 8
    x = scale_of(bars.axis, [0.0, *_ends(bars)], start_px=left, end_px=width - room)
    row_px = thick + _GAP_PX + (_LABEL_PX if above else 0)
    return _Frame(x=x, left_px=left, row_px=row_px, labels_above=above)


def _ends(bars: Bars) -> list[float]:
    if bars.stacked:
        highs = [ends[1] for ends in bars.ranges if ends is not None]
        return [*(_total(bars, row) for row in range(len(bars.labels))), *highs]
    return [
        value + (part.spread[row] if part.spread else 0.0)
        for part in bars.parts
        for row, value in enumerate(part.values)
        if value is not None
    ]


def _total(bars: Bars, row: int) -> float:
    return sum(part.values[row] or 0.0 for part in bars.parts)


def _end_texts(bars: Bars) -> list[str]:
    rows = range(len(bars.labels))
    if bars.stacked:
        return [bars.axis.unit.write(_total(bars, row), digits=3) for row in rows]
    return [bar_text(bars, part, row) for part in bars.parts for row in rows]


def bar_text(bars: Bars, part: BarPart, row: int) -> str:
    """Return what stands at the end of a bar."""
    value = part.values[row]
    if part.texts:
        return part.texts[row]
    return "-" if value is None else bars.axis.unit.write(value)


def _stack(bars: Bars, row: int, top: float, frame: _Frame) -> list[str]:
    parts: list[str] = []
    x, start = frame.x, 0.0
    for part in bars.parts:
        value = part.values[row] or 0.0
        if value > 0:
            tip = f"{bars.labels[row]}, {part.name}: {bars.axis.unit.write(value)}"
            parts += _bar((x.at(start), x.at(start + value)), top, _BAR_PX, part.hue, tip)
        start += value
    total = bars.axis.unit.write(start, digits=3)
    end = x.at(start)
    if bars.ranges and (ends := bars.ranges[row]) is not None:
        low, high = (x.at(max(value, 0.0)) for value in ends)
        parts.append(_error_bar(low, high, top + _BAR_PX / 2))
        end = max(end, high)
    parts.append(text(end + 6, top + _BAR_PX / 2 + 4, total))
    return parts


def _side(bars: Bars, row: int, top: float, frame: _Frame) -> list[str]:
    thick = _BAR_PX if len(bars.parts) == 1 else _THIN_PX
    parts: list[str] = []
    for part in bars.parts:
        value, words = part.values[row], bar_text(bars, part, row)
        hue = 1 if part.warned and part.warned[row] else part.hue
        who = ", ".join(one for one in (bars.labels[row], part.name) if one)
        note = f" ({part.notes[row]})" if part.notes and part.notes[row] else ""
        end = frame.x.at(max(value or 0.0, 0.0))
        if value is not None:
            parts += _bar(
                (frame.x.at(0.0), frame.x.at(value)), top, thick, hue, f"{who}: {words}{note}"
            )
            end += _whisker(parts, part, row, top + thick / 2, frame.x)
        parts.append(text(end + 6, top + thick / 2 + 4, words))
        top += thick
    return parts


def _whisker(parts: list[str], part: BarPart, row: int, y: float, x: Scale) -> float:
    """Add a bar's error bar; return how far it reaches beyond the bar."""
    value, half = part.values[row], part.spread[row] if part.spread else 0.0
    if value is None or half <= 0:
        return 0.0
    low, high = x.at(max(value - half, 0.0)), x.at(value + half)
    parts.append(_error_bar(low, high, y))
    return high - x.at(value)


def _error_bar(low: float, high: float, y: float) -> str:
    ends = "".join(f"M{number(end)} {number(y - 4)}v8" for end in (low, high))
    return f'<path class="k" d="M{number(low)} {number(y)}H{number(high)}{ends}"/>'


def _bar(ends: Sequence[float], top: float, thick: float, hue: int, tip: str) -> Sequence[str]:
    left, right = sorted(ends)
    box = (
        f'x="{number(left)}" y="{number(top)}" width="{number(max(right - left, 0.5))}" '
        f'height="{number(thick - 1)}"'
    )
    texture = texture_of(hue)
    over = [f'<rect class="p" fill="url(#{texture})" {box}/>'] if texture else []
    return [tipped(f'rect class="f c{hue % HUES}" {box}', tip), *over]
