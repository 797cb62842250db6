"""Step times that a training job logs, as JSON lines or CSV.

Each row has ``step`` and ``step_s``; ``rank`` and ``time_s`` (seconds since 1970) where the job
writes them. Other columns are passed over.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["StepTime", "StepTimes", "parse_line", "parse_step_times"]

MAX_CELLS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """One step of one rank; rank 0 and no time where the row has none."""

    step: int
    rank: int
    step_s: float
    time_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """What a text holds.

    Attributes:
        rows: The steps, in order.
        num_odd: Lines that are none.
        heading: The CSV heading that the last of them stand under; empty without one.
    """

    rows: tuple[StepTime, ...]
    num_odd: int
    heading: str


def parse_step_times(text: str, *, heading: str = "") -> StepTimes:
    """Return the steps in *text*.

    Args:
        text: Whole lines.
        heading: The CSV heading that stands before *text*.
    """
    rows: list[StepTime] = []
    num_odd = 0
    names = _cells(heading)
    for line in text.splitlines():
        if not line.strip():
            continue
        if {"step", "step_s"} <= set(_cells(line)):
            heading, names = line, _cells(line)
            continue
        row = parse_line(line, names)
        if row is None:
            num_odd += 1
        else:
            rows.append(row)
    return StepTimes(rows=tuple(rows), num_odd=num_odd, heading=heading)


def parse_line(line: str, names: list[str]) -> StepTime | None:
    """Return the step of one line, JSON or CSV under *names*; None when it is none."""
    try:
        if line.lstrip().startswith("{"):
            cells = json.loads(line)
        else:
            cells = dict(zip(names, _cells(line), strict=True))
        return _step(cells)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line]), [])][:MAX_CELLS]
    except csv.Error:
        return []


def _step(cells: dict[str, Any]) -> StepTime:
    step_s = float(cells["step_s"])
    time_s = float(cells["time_s"]) if cells.get("time_s") not in (None, "") else None
    if not (math.isfinite(step_s) and step_s >= 0 and math.isfinite(time_s or 0.0)):
        raise ValueError
    return StepTime(
        step=int(cells["step"]), rank=int(cells.get("rank") or 0), step_s=step_s, time_s=time_s
    )
