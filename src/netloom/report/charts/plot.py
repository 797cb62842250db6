"""Series over two axes, as SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from netloom.report.charts.model import HUES
from netloom.report.charts.scale import Scale, scale_of, text_width
from netloom.report.charts.svg import FONT_PX, grid, line, mark_svg, number, text, tipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from netloom.report.charts.model import Band, Mark, Plot, Series

__all__ = ["plot_svg", "point_tip"]

_TOP: Final = 28  # the title of the upright axis stands here
_BOTTOM: Final = 44
_RIGHT: Final = 16
# Places of a plot that tell their numbers: of all lines without marks, and of a cloud of dots.
_LINE_TARGETS: Final = 160
_CLOUD_TARGETS: Final = 250
_DENSE: Final = 400  # points of a line from which it is drawn thin
_MAX_MARKS: Final = 700  # with shape and numbers of their own; more are a cloud of dots

Place = tuple[float, float]


def plot_svg(plot: Plot, *, width: float, height: float, num_ticks: int) -> list[str]:
    """Return the parts of the picture."""
    y = scale_of(plot.y, _reach(plot), start_px=height - _BOTTOM, end_px=_TOP)
    ticks_y = max(3, round(height / 62))
    widest = max((text_width(label, FONT_PX) for _, label in y.ticks(ticks_y)), default=0.0)
    left = widest + 12
    values = [value for one in plot.series for value in one.x]
    values += [rule.x for rule in plot.rules]
    x = scale_of(plot.x, values, start_px=left, end_px=width - _RIGHT)
    most = _fitting(x, num_ticks)
    parts = [
        text(0, 13, y.title, style="n"),
        *grid(y, ticks_y, across=(left, width - _RIGHT), vertical=False),
        *grid(x, most, across=(_TOP, height - _BOTTOM), vertical=True),
        text((left + width - _RIGHT) / 2, height - 6, x.title, style="n", anchor="middle"),
    ]
    for rule in plot.rules:
        at = x.at(rule.x)
        is_left = at < (left + width) / 2
        parts.append(line(at, _TOP, at, height - _BOTTOM, "r"))
        anchor, shift = ("start", 5) if is_left else ("end", -5)
        parts.append(text(at + shift, _TOP + 11, rule.label, anchor=anchor))
    parts += [_band(one, x, y) for one in plot.bands]
    many = sum(len(one.x) for one in plot.series if one.mark) > _MAX_MARKS
    bare = sum(one.mark is None and not one.silent for one in plot.series)
    targets = min(40, _LINE_TARGETS // max(bare, 1))
    return [*parts, *(_series(one, x, y, cloud=many, num_targets=targets) for one in plot.series)]


def _reach(plot: Plot) -> Iterator[float]:
    """Yield the values that the upright axis must hold, error bars included."""
    for one in plot.series:
        for index, value in enumerate(one.y):
            half = one.spread[index] if one.spread else 0.0
            yield value - half
            yield value + half
    for band in plot.bands:
        yield from band.low
        yield from band.high


def _band(band: Band, x: Scale, y: Scale) -> str:
    """Return the area of *band*: along its upper edge, and back along the lower one."""
    above = [(x.at(at), y.at(value)) for at, value in zip(band.x, band.high, strict=True)]
    below = [(x.at(at), y.at(value)) for at, value in zip(band.x, band.low, strict=True)]
    path = "L".join(f"{number(left)} {number(top)}" for left, top in [*above, *below[::-1]])
    return f'<path class="band c{band.hue}" d="M{path}Z"/>'


def _fitting(x: Scale, most: int) -> int:
    """Return how many ticks have room beside one another."""
    for count in range(most, 2, -1):
        ticks = x.ticks(count)
        need = sum(text_width(label, FONT_PX) + 14 for _, label in ticks)
        if need <= x.end_px - x.start_px:
            return count
    return 2


def _series(one: Series, x: Scale, y: Scale, *, cloud: bool, num_targets: int) -> str:
    shown = [
        index for index in range(len(one.x)) if x.holds(one.x[index]) and y.holds(one.y[index])
    ]
    places = {index: (x.at(one.x[index]), y.at(one.y[index])) for index in shown}
    dash = one.hue if one.dash is None else one.dash
    parts = []
    if one.join != "none" and len(shown) > 1:
        style = "l dense" if len(shown) > _DENSE else "l"
        parts.append(f'<path class="{style}" d="{_path(list(places.values()), one.join)}"/>')
    if one.spread:
        parts += [_error_bar(one, index, places[index], y) for index in shown]
    if one.mark is not None and cloud:
        parts.append(_cloud(places.values(), one.mark))
        parts += _targets(one, places, x, y, most=_CLOUD_TARGETS)
    elif one.mark is not None:
        parts += [
            mark_svg(
                one.mark,
                *places[index],
                hollow=bool(one.hollow) and one.hollow[index],
                tip=point_tip(one, index, x, y),
            )
            for index in shown
        ]
    elif not one.silent:
        parts += _targets(one, places, x, y, most=num_targets)
    faint = " faint" if one.faint else ""
    return f'<g class="c{one.hue} d{dash % HUES}{faint}">{"".join(parts)}</g>'


def point_tip(one: Series, index: int, x: Scale, y: Scale) -> str:
    """Return a point in words: what it is, and its two numbers."""
    who = ", ".join(part for part in (one.name, one.note(index)) if part)
    what = f"{x.axis.unit.write(one.x[index])}, {y.axis.unit.write(one.y[index])}"
    return f"{who}: {what}" if who else what


def _targets(one: Series, places: dict[int, Place], x: Scale, y: Scale, *, most: int) -> list[str]:
    """Return unseen marks among *places* that tell their numbers."""
    every = max(1, -(-len(places) // most))
    return [
        tipped(
            f'circle class="h" cx="{number(place[0])}" cy="{number(place[1])}" r="3"',
            point_tip(one, index, x, y),
        )
        for index, place in list(places.items())[::every]
    ]


def _cloud(places: Iterable[Place], mark: Mark) -> str:
    """Return dots, those on one pixel as one: their number does not matter to the page's size."""
    dots = dict.fromkeys((round(x), round(y)) for x, y in places)
    if mark == "cross":
        crosses = "".join(f"M{x - 2} {y - 2}l4 4m0-4l-4 4" for x, y in dots)
        return f'<path class="crosses" d="{crosses}"/>'
    return f'<path class="dots" d="{"".join(f"M{x} {y}h0" for x, y in dots)}"/>'


def _error_bar(one: Series, index: int, place: Place, y: Scale) -> str:
    half = one.spread[index]
    if half <= 0 or not math.isfinite(half):
        return ""
    low, high = (y.at(one.y[index] + sign * half) for sign in (-1, 1))
    left, right = number(place[0] - 4), number(place[0] + 4)
    return (
        f'<path class="e" d="M{number(place[0])} {number(low)}V{number(high)}'
        f'M{left} {number(low)}H{right}M{left} {number(high)}H{right}"/>'
    )


def _path(places: Sequence[Place], join: str) -> str:
    """Return the line through *places*."""
    first, *others = _thinned(places)
    path = [f"M{number(first[0])} {number(first[1])}"]
    if join == "step":
        path += [f"H{number(x)}V{number(y)}" for x, y in others]
    else:
        path += [f"L{number(x)} {number(y)}" for x, y in others]
    return "".join(path)


def _thinned(places: Sequence[Place]) -> list[Place]:
    """Return the first, last, lowest and highest of each half pixel: what can be seen of a line.

    Jugel et al. (2014), M4: the picture stays the same however many points there are.
    """
    found: list[Place] = []
    column: list[Place] = []
    for place in places:
        if column and round(2 * place[0]) != round(2 * column[0][0]):
            found += _outermost(column)
            column = []
        column.append(place)
    return [*found, *_outermost(column)]


def _outermost(column: list[Place]) -> list[Place]:
    by_height = sorted(range(len(column)), key=lambda index: (column[index][1], index))
    keep = sorted({0, len(column) - 1, by_height[0], by_height[-1]})
    return [column[index] for index in keep]
