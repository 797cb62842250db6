"""The figures of a sweep, chosen by what it varies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import (
    HUES,
    PERCENT,
    PLAIN,
    SECONDS,
    BarPart,
    Bars,
    ChartAxis,
    Plot,
    Series,
    dash_of,
    mark_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.report.charts import Unit
    from netloom.results.table import Cell
    from netloom.study.sweep.result import Sweep

    Groups = dict[tuple[Cell, ...], list[Mapping[str, Cell]]]

__all__ = ["figure", "in_words"]

MAX_LINES: Final = 24  # more would be a thicket
MAX_BARS: Final = 40
WIDE: Final = 20  # the largest value over the smallest, from which an axis is logarithmic


def figure(sweep: Sweep, name: str) -> Plot | Bars:
    """Return the number *name* over the first numeric axis that varies, a line for the others.

    Without a numeric axis: bars over the first axis. Means over seeds have their interval.
    """
    means = sweep.means()
    column = name if means is None else f"{name}.mean"
    rows = sweep.rows() if means is None else means.rows()
    rows = [row for row in rows if row.get(column) is not None]
    varied = [key for key in sweep.keys if len({row.get(key) for row in rows}) > 1]
    numeric = [key for key in varied if all(_is_number(row.get(key)) for row in rows)]
    x = next(iter([*numeric, *varied, *sweep.keys]), "point")
    others = [key for key in varied if key != x]
    groups: Groups = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in others), []).append(row)
    drawn = dict(list(groups.items())[:MAX_LINES])
    rest = len(groups) - len(drawn)
    aside = f"The first {MAX_LINES} combinations; {rest:,} more are in the table." if rest else ""
    axis = ChartAxis(title=in_words(name), unit=_unit(name), from_zero=True)
    if x not in numeric:
        return _bars(drawn, axis, x=x, column=column)
    return Plot(
        x=ChartAxis(title=x, unit=_unit(x), is_log=_is_wide([row[x] for row in rows])),
        y=axis,
        series=tuple(
            _series(index, _label(values), group, x=x, column=column)
            for index, (values, group) in enumerate(drawn.items())
        ),
        aside=aside,
    )


def in_words(name: str) -> str:
    """Return a column's name without underscores, and without the unit that the axis tells."""
    plain = name.removesuffix("_s") if _unit(name) is SECONDS else name
    return plain.replace("_", " ")


def _unit(name: str) -> Unit:
    """Return what a number is in, by the end of its name."""
    if name.endswith("_s"):
        return SECONDS
    return PERCENT if name.endswith(("_pct", "_percent")) else PLAIN


def _series(
    index: int, label: str, rows: Sequence[Mapping[str, Cell]], *, x: str, column: str
) -> Series:
    rows = sorted(rows, key=lambda row: _as_number(row[x]))
    return Series(
        name=label,
        x=tuple(_as_number(row[x]) for row in rows),
        y=tuple(_as_number(row[column]) for row in rows),
        hue=index % HUES,
        dash=dash_of(index),
        mark=mark_of(index),
        hollow=tuple(bool(_doubt(row)) for row in rows),
        notes=tuple(_doubt(row) for row in rows),
        spread=_spread(rows, column),
    )


def _bars(groups: Groups, axis: ChartAxis, *, x: str, column: str) -> Bars:
    known = list(dict.fromkeys(str(row.get(x)) for rows in groups.values() for row in rows))
    labels, rest = tuple(known[:MAX_BARS]), len(known) - MAX_BARS
    aside = f"The first {MAX_BARS}; {rest:,} more are in the table." if rest > 0 else ""
    parts = []
    for index, (values, rows) in enumerate(groups.items()):
        own = {str(row.get(x)): row for row in rows}
        shown = [own.get(label, {}) for label in labels]
        parts.append(
            BarPart(
                name=_label(values),
                values=tuple(_value(row, column) for row in shown),
                hue=index,
                notes=tuple(_doubt(row) for row in shown),
                spread=_spread(shown, column),
            )
        )
    return Bars(axis=axis, rows=x, labels=labels, parts=tuple(parts), aside=aside)


def _value(row: Mapping[str, Cell], column: str) -> float | None:
    return _as_number(row[column]) if row.get(column) is not None else None


def _spread(rows: Sequence[Mapping[str, Cell]], column: str) -> tuple[float, ...]:
    """Return half the confidence interval of each mean; nothing where there are no means."""
    if not column.endswith(".mean"):
        return ()
    name = column.removesuffix(".mean")
    return tuple(
        _as_number(row[column]) - _as_number(low)
        if (low := row.get(f"{name}.ci95_low")) is not None
        else 0.0
        for row in rows
    )


def _doubt(row: Mapping[str, Cell]) -> str:
    return "outside the checked range" if row.get("validity.inside") is False else ""


def _label(values: tuple[Cell, ...]) -> str:
    return ", ".join(str(value) for value in values)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _as_number(cell: Cell) -> float:
    assert isinstance(cell, (int, float))
    return float(cell)


def _is_wide(cells: Sequence[Cell]) -> bool:
    numbers = [_as_number(cell) for cell in cells]
    return bool(numbers) and min(numbers) > 0 and max(numbers) >= WIDE * min(numbers)
