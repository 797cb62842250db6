"""Flows from a CSV file."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import SpecError, at
from netloom.spec.files import read_text
from netloom.workload.dag import Dag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MAX_FILE_BYTES", "flow_file"]

MAX_FILE_BYTES: Final = 1 << 28
_PS: Final = 1e12
_COLUMNS: Final = ("source", "target", "size_bytes")
_START: Final = "start_s"  # a column that may be left out
_KINDS: Final = {"source": "i", "target": "i", "size_bytes": "i", _START: "f"}


def flow_file(name: str, *, num_endpoints: int) -> Dag:
    """Return the flows in a CSV file.

    Raises:
        SpecError: a column is missing or unknown, or a cell wrong or no endpoint; the message names
            the line.
    """
    text = read_text(name, max_bytes=MAX_FILE_BYTES, wanted="a CSV file of flows")
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    heading: list[str] = next(rows, [])
    _check_heading(heading, name)
    table = _table(text, heading, rows.line_num, name=name, num_endpoints=num_endpoints)
    if not len(table):
        raise SpecError(file=name, what="no flows", remedy="add a line below the heading")
    return Dag.of(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        connection=np.arange(len(table)),
        start_ps=table[:, 3],
    )


def _check_heading(heading: Sequence[str], name: str) -> None:
    missing = [column for column in _COLUMNS if column not in heading]
    if missing:
        raise SpecError(
            file=name,
            line=1,
            what=f"the columns {', '.join(missing)} are missing",
            remedy="add them",
        )
    known = (*_COLUMNS, _START)
    other = [column for column in heading if column not in known]
    if other:
        raise SpecError(
            file=name,
            line=1,
            what=f"nothing is done about the column {other[0]!r}",
            remedy=f"remove it: there are {', '.join(known)}",
        )


def _table(
    text: str, heading: list[str], first_line: int, *, name: str, num_endpoints: int
) -> NDArray[np.int64]:
    """Return source, target, size and start in ps of each flow."""
    from netloom.engines.rows import read_rows  # noqa: PLC0415  (native code)

    wanted = (*_COLUMNS, _START)

    def in_order(columns: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        given = dict(zip(heading, columns, strict=True))
        return [given.get(column, np.zeros_like(columns[0])) for column in wanted]

    def wrong(columns: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
        source, target, size_bytes, _ = in_order(columns)
        found = (np.maximum(source, target) >= num_endpoints) | (source == target)
        return np.asarray(found | (size_bytes < 1))

    def read(number: int, line: str) -> tuple[int, ...] | None:
        cells = next(csv.reader([line], skipinitialspace=True), [])
        return _row(cells, number) if cells else None

    def _row(cells: list[str], number: int) -> tuple[int, ...]:
        with at(file=name, line=number):
            row = _flow_row(dict(zip(heading, cells, strict=False)), num_endpoints)
        return tuple(row[wanted.index(column)] for column in heading)

    if '"' in text or len(set(heading)) < len(heading):  # a cell may go over several lines
        return _by_csv(text, name=name, num_endpoints=num_endpoints)
    table = read_rows(
        text,
        "".join(_KINDS[column] for column in heading),
        separator=",",
        first_line=first_line,
        read=read,
        wrong=wrong,
    )
    return np.stack(in_order(list(table.T)), axis=1)


def _by_csv(text: str, *, name: str, num_endpoints: int) -> NDArray[np.int64]:
    rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
    cells = []
    for row in rows:
        with at(file=name, line=rows.line_num):
            cells.append(_flow_row(row, num_endpoints))
    return np.array(cells, dtype=np.int64).reshape(-1, 4)


def _flow_row(row: dict[str, str], num_endpoints: int) -> tuple[int, int, int, int]:
    try:
        source, target, size = (int(row[column]) for column in _COLUMNS)
        start_s = float(row.get(_START) or 0)
    except (KeyError, TypeError, ValueError):
        source, target, size, start_s = -1, -1, 0, 0.0
    if not (0 <= start_s < 3600 and min(source, target) >= 0 and 1 <= size < 1 << 60):
        raise SpecError(
            what=(
                "source and target are endpoints from 0, size_bytes is 1 or more "
                "and start_s less than an hour"
            ),
            remedy="correct the line",
        )
    if max(source, target) >= num_endpoints:
        raise SpecError(
            what=f"there is no endpoint {max(source, target)}",
            remedy=f"they are 0 to {num_endpoints - 1}",
        )
    if source == target:
        raise SpecError(what=f"{source} sends to itself", remedy="name two different endpoints")
    return source, target, size, round(start_s * _PS)
