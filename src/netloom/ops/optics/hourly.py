"""Weeks of a store's numbers, hour by hour."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.observe.store import MICRO
from netloom.ops.observe.store_file import store_errors
from netloom.ops.optics.outlook import HourlyHistory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from netloom.ops.observe.store import ObservationStore

__all__ = ["hourly"]

HOUR_US: Final = 3600 * MICRO
FILL_H: Final = 2  # a value that did not change is written once an hour
Row = tuple[int, str, int, float, float, float, float]


def hourly(
    store: ObservationStore, metric: str, end_s: float, num_hours: int, *, is_counter: bool
) -> HourlyHistory:
    """Return the hours of *metric* up to *end_s*, of every port or lane that told it.

    Args:
        store: Single values and the windows of older ones.
        metric: Which number.
        end_s: The end of the last hour, rounded down to an hour.
        num_hours: How far back.
        is_counter: Whether to return what it rose in each hour instead of its mean. One that
            falls began at zero again.

    Raises:
        OutputError: the store cannot be read.
    """
    end_us = round(end_s * MICRO) // HOUR_US * HOUR_US
    start_us = end_us - num_hours * HOUR_US
    found: dict[str, NDArray[np.float64]] = {}
    for _, some in groupby(_rows(store, metric, start_us, end_us), key=lambda row: row[0]):
        own = list(some)
        part = own[0][1]
        if is_counter:
            values = _risen(own, start_us, num_hours)
        else:
            values = _means(own, start_us, num_hours)
        known = found.get(part)
        if known is None or np.isfinite(values).sum() > np.isfinite(known).sum():
            found[part] = values
    values = np.stack(list(found.values())) if found else np.empty((0, num_hours))
    return HourlyHistory(parts=tuple(found), values=values)


def _rows(store: ObservationStore, metric: str, start_us: int, end_us: int) -> Iterable[Row]:
    query = (
        "SELECT series.id, part, time_us, first, last, total / count, increase FROM coarse "
        "JOIN series ON series.id = coarse.series "
        "WHERE metric = ?1 AND time_us >= ?2 AND time_us < ?3 UNION ALL "
        "SELECT series.id, part, time_us, value, value, value, 0.0 FROM sample "
        "JOIN series ON series.id = sample.series "
        "WHERE metric = ?1 AND time_us >= ?2 AND time_us < ?3 AND value IS NOT NULL ORDER BY 1, 3"
    )
    with store_errors(store.path):
        return store.connection.execute(query, (metric, start_us, end_us)).fetchall()


def _means(rows: list[Row], start_us: int, num_hours: int) -> NDArray[np.float64]:
    """Return the mean of each hour; hours without a value have the one before, up to two."""
    hours = [(row[2] - start_us) // HOUR_US for row in rows]
    total = np.bincount(hours, [row[5] for row in rows], minlength=num_hours)
    count = np.bincount(hours, minlength=num_hours)
    values = np.divide(total, count, out=np.full(num_hours, np.nan), where=count > 0)
    for _ in range(FILL_H):
        values[1:] = np.where(np.isnan(values[1:]), values[:-1], values[1:])
    return np.asarray(values)


def _risen(rows: list[Row], start_us: int, num_hours: int) -> NDArray[np.float64]:
    """Return by how much a counter rose in each hour; 0 where it is known and did not."""
    values = np.zeros(num_hours)
    before: float | None = None
    for _, _, time_us, first, last, _, increase in rows:
        jump = 0.0 if before is None else (first - before if first >= before else first)
        values[(time_us - start_us) // HOUR_US] += jump + increase
        before = last
    values[: (rows[0][2] - start_us) // HOUR_US] = np.nan
    return values
