"""The figures of a sweep, chosen by what it varies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.report.compare.figures import COLOURS, DASHES, new_layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.results.table import Cell
    from netloom.study.sweep.result import Sweep

__all__ = ["figure"]

Figure = dict[str, Any]
WIDE: Final = 20  # the largest value over the smallest, from which an axis is logarithmic


def figure(sweep: Sweep, name: str) -> Figure:
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
    kind = "scatter" if x in numeric else "bar"
    others = [key for key in varied if key != x]
    groups: dict[tuple[Cell, ...], list[Mapping[str, Cell]]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in others), []).append(row)
    traces = [
        _trace(kind, index, _label(values), group, x=x, column=column)
        for index, (values, group) in enumerate(groups.items())
    ]
    layout = new_layout(x, name)
    layout["yaxis"] |= {"rangemode": "tozero"}
    if kind == "scatter" and _is_wide([row[x] for row in rows]):
        layout["xaxis"] |= {"type": "log"}
    return {"data": traces, "layout": layout}


def _trace(
    kind: str,
    index: int,
    label: str,
    rows: Sequence[Mapping[str, Cell]],
    *,
    x: str,
    column: str,
) -> Figure:
    if kind == "scatter":
        rows = sorted(rows, key=lambda row: _as_number(row[x]))
    colour = COLOURS[index % len(COLOURS)]
    trace: Figure = {
        "type": kind,
        "name": label,
        "showlegend": bool(label),
        "x": [row[x] if kind == "scatter" else str(row.get(x)) for row in rows],
        "y": [row[column] for row in rows],
        "marker": {"color": colour},
        "text": [_doubt(row) for row in rows],
    }
    if kind == "scatter":
        dash = DASHES[index % len(DASHES)]
        trace |= {"mode": "lines+markers", "line": {"color": colour, "dash": dash}}
        trace["marker"]["symbol"] = ["circle-open" if _doubt(row) else "circle" for row in rows]
    if column.endswith(".mean"):
        trace["error_y"] = _error_bars(rows, column.removesuffix(".mean"))
    return trace


def _error_bars(rows: Sequence[Mapping[str, Cell]], name: str) -> Figure:
    halves = [
        _as_number(row[f"{name}.mean"]) - _as_number(low)
        if (low := row.get(f"{name}.ci95_low")) is not None
        else 0.0
        for row in rows
    ]
    return {"type": "data", "array": halves, "visible": True}


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
