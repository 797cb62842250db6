"""A chart in words: one sentence for those who cannot see it, and a table with its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.report.charts.model import Bars, Chart, Heat, Plot

if TYPE_CHECKING:
    from netloom.report.charts.model import Series

__all__ = ["Twin", "single_point", "summary", "twin"]

_MAX_ROWS: Final = 60
_MAX_TOLD: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """The numbers of a chart as a table."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def summary(chart: Chart) -> str:
    """Return the chart in a sentence or two."""
    match chart:
        case Plot():
            return _plot_summary(chart)
        case Bars():
            return _bars_summary(chart)
        case Heat():
            rows = twin(chart).rows
            return "; ".join(f"{row[0]}, median {row[3]}, highest {row[4]}" for row in rows)


def single_point(chart: Chart) -> str | None:
    """Return in words what would be a plot of one dot or one bar; None where there is more."""
    if isinstance(chart, Plot):
        return _one_place(chart)
    if isinstance(chart, Bars) and len(chart.labels) == len(chart.parts) == 1:
        row = twin(chart).rows[0]
        return f"{row[0]}: {row[1]} ({chart.axis.title})."
    if isinstance(chart, Heat):
        return None if any(block.cells for block in chart.blocks) else "No links to show."
    return None if chart.labels and chart.parts else "Nothing to show."


def _one_place(plot: Plot) -> str | None:
    told = _told(plot)
    points = [(one, index) for one in told for index in range(len(one.x))]
    if not points:
        return "Nothing to show."
    joined = all(one.join != "none" for one in told)
    one_x = len({one.x[index] for one, index in points}) == 1
    if len(points) > 1 and not (joined and one_x):
        return None
    where = plot.x.unit.write(points[0][0].x[points[0][1]])
    values = ", ".join(
        f"{one.name} {plot.y.unit.write(one.y[index])}".strip() for one, index in points
    )
    return f"One value of {plot.x.title} only, {where}: {plot.y.title} {values}."


def _told(plot: Plot) -> list[Series]:
    return [one for one in plot.series if not one.silent and one.x]


def _plot_summary(plot: Plot) -> str:
    told = _told(plot)
    head = f"{plot.y.title} over {plot.x.title}"
    lines = [
        f"{one.name or 'the line'} from {_point(plot, one, 0)} to {_point(plot, one, -1)}"
        if one.join != "none" and len(one.x) > 1
        else f"{one.name or 'the points'}: {_some(plot, one)}"
        for one in told[:_MAX_TOLD]
    ]
    more = [f"and {len(told) - _MAX_TOLD} more"] if len(told) > _MAX_TOLD else []
    return f"{head}. {'; '.join([*lines, *more])}."


def _point(plot: Plot, one: Series, index: int) -> str:
    return f"{plot.y.unit.write(one.y[index])} at {plot.x.unit.write(one.x[index])}"


def _some(plot: Plot, one: Series) -> str:
    if len(one.x) == 1:
        return _point(plot, one, 0)
    low, high = (plot.y.unit.write(edge(one.y)) for edge in (min, max))
    return f"{len(one.x):,} points, {low} to {high}"


def _bars_summary(bars: Bars) -> str:
    rows = twin(bars).rows
    last = "" if not bars.stacked else " in all"
    told = [f"{row[0]} {row[-1] if bars.stacked else ', '.join(row[1:])}{last}" for row in rows]
    more = [f"and {len(told) - _MAX_TOLD} more"] if len(told) > _MAX_TOLD else []
    return f"{bars.axis.title} by {bars.rows}: {'; '.join([*told[:_MAX_TOLD], *more])}."


def twin(chart: Chart) -> Twin:
    """Return the numbers of *chart*; of very many points, where each series begins and ends."""
    match chart:
        case Plot():
            return _plot_twin(chart)
        case Bars():
            return _bars_twin(chart)
        case Heat():
            return _heat_twin(chart)


def _plot_twin(plot: Plot) -> Twin:
    told = _told(plot)
    num_points = sum(len(one.x) for one in told)
    if any(any(one.notes) or one.join == "none" for one in told) and num_points <= _MAX_ROWS:
        return _listed(plot, told)
    places = sorted({value for one in told for value in one.x})
    if len(places) <= _MAX_ROWS and all(len(set(one.x)) == len(one.x) for one in told):
        return _crossed(plot, told, places)
    return _ranges(plot, told)


def _listed(plot: Plot, told: list[Series]) -> Twin:
    """Return a row for each point."""
    rows = tuple(
        (
            ", ".join(part for part in (one.name, one.note(index)) if part) or "point",
            plot.x.unit.write(one.x[index]),
            plot.y.unit.write(one.y[index]),
        )
        for one in told
        for index in range(len(one.x))
    )
    return Twin(headings=("point", plot.x.title, plot.y.title), rows=rows)


def _crossed(plot: Plot, told: list[Series], places: list[float]) -> Twin:
    """Return a row for each place on the lower axis, a column for each series."""
    values = [dict(zip(one.x, one.y, strict=True)) for one in told]
    rows = tuple(
        (
            plot.x.unit.write(place),
            *(plot.y.unit.write(own[place]) if place in own else "" for own in values),
        )
        for place in places
    )
    return Twin(headings=(plot.x.title, *(one.name or plot.y.title for one in told)), rows=rows)


def _ranges(plot: Plot, told: list[Series]) -> Twin:
    """Return a row for each series: how many points, and between what they lie."""
    heads = ("series", "points", f"{plot.x.title} from", "to", f"{plot.y.title} least", "most")
    rows = tuple(
        (
            one.name or "all",
            f"{len(one.x):,}",
            *(plot.x.unit.write(edge(one.x)) for edge in (min, max)),
            *(plot.y.unit.write(edge(one.y)) for edge in (min, max)),
        )
        for one in told
    )
    return Twin(headings=heads, rows=rows)


def _bars_twin(bars: Bars) -> Twin:
    write = bars.axis.unit.write
    rows = []
    for row, label in enumerate(bars.labels):
        values = [part.values[row] for part in bars.parts]
        cells = ["-" if value is None else write(value) for value in values]
        if bars.stacked:
            cells.append(write(sum(value or 0.0 for value in values), digits=3))
            ends = bars.ranges[row] if bars.ranges else None
            if ends is not None:
                cells[-1] += f" ({' to '.join(write(end, digits=3) for end in ends)})"
        rows.append((label, *cells))
    names = tuple(part.name or bars.axis.title for part in bars.parts)
    total = ("all",) if bars.stacked else ()
    return Twin(headings=(bars.rows, *names, *total), rows=tuple(rows))


def _heat_twin(heat: Heat) -> Twin:
    write = heat.unit.write
    rows = []
    for block in heat.blocks:
        top = max(block.cells, key=lambda cell: cell.percent, default=None)
        if top is None:
            continue
        middle = median(cell.percent for cell in block.cells)
        idle = sum(cell.percent <= 0 for cell in block.cells)
        rows.append(
            (
                block.label,
                f"{len(block.cells):,} of {block.total:,}",
                f"{idle:,}",
                write(middle),
                f"{write(top.percent)} ({top.name})",
            )
        )
    heads = (heat.what, "drawn", "idle", "median", "highest")
    return Twin(headings=heads, rows=tuple(rows))
