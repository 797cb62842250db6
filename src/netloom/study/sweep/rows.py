"""Answers as rows of a table, and rows over seeds as means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from netloom.results.interval import mean_interval
from netloom.results.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from netloom.spec.nodes import Plain
    from netloom.study.sweep.question import SweepQuestion

__all__ = ["aggregate", "rows_of", "table_of"]

_NO_NUMBERS: Final = frozenset({"point", "seed"})


def rows_of(
    point: int,
    values: Mapping[str, Plain],
    result: Mapping[str, Any] | None,
    error: str,
    question: SweepQuestion,
) -> list[dict[str, Cell]]:
    """Return the rows of one point: what varies first, then what was found.

    Numbers one level down get the name of both levels, ``memory_bytes.total``; lists and text
    further down stay in the JSON.
    """
    head: dict[str, Cell] = {"point": point}
    head |= {path: _cell(value) for path, value in values.items()}
    if result is None:
        return [head | {"error": error}]
    # A result may repeat the name of an axis, but never overrules what was asked.
    return [head | {"error": None} | _new(_flat(part), head) for part in question.rows(result)]


def table_of(rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Return the table of *rows*; a column that mixes text with numbers becomes text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    mixed = {name for name in names if _is_mixed(row.get(name) for row in rows)}
    return Table.from_rows(
        [
            {name: _text(cell) if name in mixed else cell for name, cell in row.items()}
            for row in rows
        ],
        units={name: _unit(name) for name in names if "." in name},
    )


def aggregate(rows: Iterable[Mapping[str, Cell]], *, keys: Sequence[str]) -> list[dict[str, Cell]]:
    """Return one row for the rows that agree in *keys*, with the means of all their numbers.

    ``seeds`` counts the rows that were averaged, ``failed`` those without numbers. A number that
    some of the rows lack is averaged over the others; ``NAME.seeds`` then says over how many.
    What is true or false is true where it is so in all of them.
    """
    groups: dict[tuple[Cell, ...], list[Mapping[str, Cell]]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return [
        dict(zip(keys, values, strict=True)) | _means(group, set(keys))
        for values, group in groups.items()
    ]


def _means(group: Sequence[Mapping[str, Cell]], keys: set[str]) -> dict[str, Cell]:
    whole = [row for row in group if not row.get("error")]
    means: dict[str, Cell] = {"seeds": len(whole), "failed": len(group) - len(whole)}
    names = dict.fromkeys(name for row in whole for name in row)
    for name in names:
        if name in keys | _NO_NUMBERS:
            continue
        cells = [row[name] for row in whole if row.get(name) is not None]
        numbers = [number for cell in cells if (number := _number(cell)) is not None]
        if numbers:
            means |= _mean(name, numbers, len(whole))
        elif cells and all(isinstance(cell, bool) for cell in cells):
            means[name] = all(cells)
    return means


def _mean(name: str, numbers: Sequence[float], num_rows: int) -> dict[str, Cell]:
    interval = mean_interval(numbers)
    cells: dict[str, Cell] = {
        f"{name}.mean": interval.mean,
        f"{name}.ci95_low": interval.low,
        f"{name}.ci95_high": interval.high,
        f"{name}.min": interval.least,
        f"{name}.max": interval.most,
    }
    if len(numbers) < num_rows:
        cells[f"{name}.seeds"] = len(numbers)
    return cells


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else None


def _cell(value: Plain) -> Cell:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return json.dumps(value)


def _new(cells: Mapping[str, Cell], head: Mapping[str, Cell]) -> dict[str, Cell]:
    return {name: cell for name, cell in cells.items() if name not in head}


def _flat(part: Mapping[str, Any]) -> dict[str, Cell]:
    return dict(_cells(part))


def _cells(part: Mapping[str, Any]) -> Iterator[tuple[str, Cell]]:
    for name, value in part.items():
        if value is None or isinstance(value, (str, bool, int, float)):
            yield name, value
        elif isinstance(value, dict):
            for below, number in value.items():
                if isinstance(number, (bool, int, float)):
                    yield f"{name}.{below}", number


def _is_mixed(cells: Iterable[Cell]) -> bool:
    kinds = {type(cell) for cell in cells if cell is not None}
    return len(kinds) > 1 and kinds != {int, float}


def _text(cell: Cell) -> str | None:
    return cell if cell is None or isinstance(cell, str) else json.dumps(cell)


def _unit(name: str) -> str:
    """Return the unit that one of the parts of a name carries: ``s`` of ``breakdown_s.data``."""
    units = (Table.from_rows([{part: 0.0}]).units[part] for part in name.split("."))
    return next(filter(None, units), "")
