"""Measured operators: tables of how long one took, by shape.

A table is a CSV file with the columns ``operator, precision, shape, time_us, source``. The shape
of a matrix product is ``m x n x k`` (m by k times k by n), that of attention ``batch x sequence x
heads x head size`` (of full attention, without a mask, ``x keys`` besides), that of everything else
``rows x columns``. ``netloom calibrate gpu`` writes
such a file.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError, at
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["COLUMNS", "TimedOperator", "parse_table", "read_table", "shipped_table"]

COLUMNS: Final = ("operator", "precision", "shape", "time_us", "source")
_LARGEST_FILE_BYTES: Final = 64 * 2**20
_NUM_DIMENSIONS: Final = {"gemm": 3, "attention": 4, "latent": 4, "full": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOperator:
    """One operator, timed.

    Attributes:
        operator: ``gemm_tn`` (forward), ``gemm_nn`` and ``gemm_nt`` (gradients of input and
            weight), ``attention_forward``, ``attention_backward``, or a memory-bound operator.
        shape: Its sizes, in the order that the module's documentation gives.
    """

    operator: str
    precision: str
    shape: tuple[int, ...]
    time_s: float
    source: str


@cache
def shipped_table(name: str) -> tuple[TimedOperator, ...]:
    """Return a table that netloom ships.

    ``a100``, ``b200``, ``h200``; ``h200_calibrated``, what ``netloom calibrate gpu`` wrote on one;
    ``h200_profiled``, kernels of whole layers without the host; ``h200_attention``, attention
    without a mask and with keys wider than values, likewise.
    """
    text = resources.files("netloom.compute").joinpath("data", f"{name}.csv").read_text("utf-8")
    return parse_table(text.splitlines(), where=f"{name}.csv")


def read_table(path: Path) -> tuple[TimedOperator, ...]:
    """Return the rows of a table that ``netloom calibrate gpu`` wrote.

    Raises:
        SpecError: the file cannot be read or a row is wrong.
    """
    text = read_text(
        path, max_bytes=_LARGEST_FILE_BYTES, wanted="what 'netloom calibrate gpu' wrote"
    )
    return parse_table(text.splitlines(), where=str(path))


def parse_table(lines: Iterable[str], *, where: str) -> tuple[TimedOperator, ...]:
    """Return the rows of a table, in order.

    Raises:
        SpecError: a column is missing or a value is wrong.
    """
    reader = csv.DictReader(lines)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise SpecError(
            file=where,
            what=f"no column {missing[0]!r}",
            remedy=f"the first line is {','.join(COLUMNS)}",
        )
    found = []
    for number, row in enumerate(reader, start=2):
        with at(file=where, line=number):
            found.append(_row(row))
    return tuple(found)


def _row(row: Mapping[str, str | None]) -> TimedOperator:
    operator = row["operator"] or ""
    try:
        shape = tuple(int(size) for size in (row["shape"] or "").split("x"))
        time_s = float(row["time_us"] or "") * 1e-6
    except ValueError as error:
        raise SpecError(
            what=str(error),
            remedy="a shape is such as 4096x4096x1024, a time a number of us",
        ) from error
    expected = _NUM_DIMENSIONS.get(operator.partition("_")[0], 2)
    if len(shape) != expected or min(shape) < 1:
        raise SpecError(
            key="shape",
            what=f"{row['shape']!r} has not {expected} sizes of 1 and more",
            remedy="remove",
        )
    if not (math.isfinite(time_s) and time_s > 0):
        raise SpecError(
            key="time_us",
            what=f"{row['time_us']!r} is not a positive number",
            remedy="remove the row",
        )
    return TimedOperator(
        operator=operator,
        precision=row["precision"] or "",
        shape=shape,
        time_s=time_s,
        source=row["source"] or "",
    )
