"""Tables of measured collectives: those that ship, or anyone's in the same columns."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.spec.files import read_text
from netloom.validation.collectives.machines import with_machines
from netloom.validation.collectives.measured import read_measurement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from netloom.validation.collectives.measurement import Measurement

__all__ = [
    "BOUND_TABLES",
    "ReadRows",
    "SkippedRow",
    "read_rows",
    "read_table",
    "shipped_rows",
    "shipped_table",
]

_LARGEST_FILE_BYTES: Final = 16 * 2**20  # 100,000 rows and more
BOUND_TABLES: Final = ("collectives_busbw.csv", "allreduce_a100_v100_node.csv")
_TABLES: Final = (*BOUND_TABLES, "collectives_logs.csv", "collectives_logs_reduce.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRow:
    """A row that could not be read, and why."""

    row_id: int
    table: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """The rows of a table that could be read, and those that could not."""

    rows: tuple[Measurement, ...]
    skipped: tuple[SkippedRow, ...] = ()


def shipped_rows() -> tuple[Measurement, ...]:
    """Return the published rows that netloom ships and can read."""
    return shipped_table().rows


def shipped_table() -> ReadRows:
    """Return the published tables that netloom ships."""
    found: list[Measurement] = []
    skipped: list[SkippedRow] = []
    for name in _TABLES:
        text = (
            resources.files("netloom.validation.collectives")
            .joinpath("data", name)
            .read_text("utf-8")
        )
        table = _parse(text, where=name, first=len(found) + len(skipped) + 1)
        found += table.rows
        skipped += table.skipped
    return ReadRows(rows=tuple(found), skipped=tuple(skipped))


def read_rows(path: Path) -> tuple[Measurement, ...]:
    """Return the rows of :func:`read_table` that could be read."""
    return read_table(path).rows


def read_table(path: Path) -> ReadRows:
    """Return the rows of a CSV file in the columns of the shipped tables.

    Raises:
        SpecError: the file cannot be read, is too large, is empty, is no table, or has no row
            that can be read.
    """
    text = read_text(path, max_bytes=_LARGEST_FILE_BYTES, wanted="a CSV table of results")
    table = _parse(text, where=path.name, first=1)
    if table.rows:
        return table
    if table.skipped:
        raise SpecError(what=f"no row can be read; {table.skipped[0].reason}")
    raise SpecError(
        file=str(path),
        what="has no rows",
        remedy="the first line names the columns, then one row a result",
    )


def _parse(text: str, *, where: str, first: int) -> ReadRows:
    """Return the rows of a table; one that cannot be read is skipped, with the reason."""
    found: list[Measurement] = []
    skipped: list[SkippedRow] = []
    for number, row in _rows(text, where=where, first=first):
        if _is_empty_result(row):
            continue
        try:
            found.append(read_measurement(row, number, where=where))
        except SpecError as error:
            skipped.append(SkippedRow(row_id=number, table=where, reason=str(error)))
    return ReadRows(rows=with_machines(found), skipped=tuple(skipped))


def _rows(text: str, *, where: str, first: int) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """Yield the rows with their numbers; a row too short lacks its last cells."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    number = first
    try:
        _check_header(reader.fieldnames or (), where=where)
        for row in reader:
            if None in row:
                found = "has more cells than the header has names"
                raise SpecError(
                    what=f"{where}: row {number}: {found}", remedy="quote cells that hold commas"
                )
            yield number, row
            number += 1
    except csv.Error as error:
        raise SpecError(
            what=f"{where}: row {number}: is not CSV ({error})",
            remedy="quote cells that hold quotes",
        ) from error


def _check_header(names: Sequence[str], *, where: str) -> None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(
            what=f"{where}: the column {twice[:60]!r} stands there twice", remedy="leave one out"
        )


def _is_empty_result(row: Mapping[str, str | None]) -> bool:
    """Return whether a row's result was rounded to nothing, as nccl-tests does at a few bytes."""
    bus, time_us = row.get("busbw_GBps") or "", row.get("time_us") or ""
    return not time_us.strip() and bus.strip() in {"0", "0.0", "0.00"}
