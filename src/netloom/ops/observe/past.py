"""The past of a store, read beside the watch that writes it; nothing is changed."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from netloom.errors import OutputError
from netloom.ops.observe.store import MICRO
from netloom.ops.observe.store_file import NO_FINDINGS, check_version, store_errors

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Past", "StoredSeries"]

MAX_POINTS: Final = 2000
MAX_SERIES: Final = 40

StoredSeries = tuple[list[float], list[float | None]]


class Past:
    """A second, read-only connection to a store; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the store at *path*.

        Raises:
            OutputError: there is none, or another netloom wrote it.
        """
        if not path.is_file():
            raise OutputError(
                file=str(path),
                what="there is no such store",
                remedy="name the one that 'netloom watch' writes",
            )
        self.path = path
        self._lock = threading.Lock()
        with store_errors(path):
            uri = f"{path.absolute().as_uri()}?mode=ro"
            self._file = sqlite3.connect(uri, uri=True, check_same_thread=False)
            (version,) = self._file.execute("PRAGMA user_version").fetchone()
            if version != NO_FINDINGS:  # what is read here was there from the beginning
                check_version(path, version)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def span_s(self) -> tuple[float, float] | None:
        """Return when the first and the last look were; None before there was one."""
        (first, last), *_ = self._rows("SELECT MIN(time_us), MAX(time_us) FROM poll")
        return None if first is None else (first / MICRO, last / MICRO)

    def last_polls(self, at_s: float) -> list[tuple[str, float, str]]:
        """Return the last look at each source by then: its name, time and error."""
        query = (
            "SELECT name, MAX(time_us), error FROM poll JOIN source ON source.id = poll.source "
            "WHERE time_us <= ? GROUP BY name ORDER BY name"
        )
        return [(name, us / MICRO, error) for name, us, error in self._rows(query, _micro(at_s))]

    def last_poll_s(self, at_s: float) -> float | None:
        """Return when any source was last seen by a time."""
        rows = self._rows("SELECT MAX(time_us) FROM poll WHERE time_us <= ?", _micro(at_s))
        return None if rows[0][0] is None else rows[0][0] / MICRO

    def parts_with(self, metric: str, value: float, at_s: float) -> list[str]:
        """Return the parts whose metric had a value at a time."""
        query = (
            "SELECT part FROM series WHERE metric = ? AND (SELECT value FROM sample "
            "WHERE series = id AND time_us <= ? ORDER BY time_us DESC LIMIT 1) = ?"
        )
        return [part for (part,) in self._rows(query, metric, _micro(at_s), value)]

    def values_at(self, metric: str, at_s: float) -> dict[str, float]:
        """Return the value that held at a time, of every part that had one."""
        query = (
            "SELECT part, (SELECT value FROM sample WHERE series = series.id AND time_us <= ?2 "
            "ORDER BY time_us DESC LIMIT 1) FROM series WHERE metric = ?1"
        )
        rows = self._rows(query, metric, _micro(at_s))
        return {part: value for part, value in rows if value is not None}

    def data_version(self) -> int:
        """Return what differs once anything was written."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def series_version(self) -> tuple[int, int]:
        """Return what differs once a series came or went."""
        ((count, last),) = self._rows("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM series")
        return count, last

    def series_of(self, metric: str) -> list[tuple[int, str, int]]:
        """Return number, part and source of every series of a metric."""
        return self._rows("SELECT id, part, source FROM series WHERE metric = ?", metric)

    def unlike(self, metric: str, usual: float, at_s: float) -> list[tuple[int, float | None]]:
        """Return the series whose value at a time was another than the usual; None is none.

        Of 196,608 ports few are unusual: that only they become rows is half of the time.
        """
        query = (
            "SELECT id, (SELECT value FROM sample WHERE series = id AND time_us <= ?3 "
            "ORDER BY time_us DESC LIMIT 1) AS held FROM series "
            "WHERE metric = ?1 AND held IS NOT ?2"
        )
        return self._rows(query, metric, usual, _micro(at_s))

    def spells(
        self, metric: str, usual: float, start_s: float, end_s: float
    ) -> list[tuple[float, str, float | None]]:
        """Return the rows of those series that had another value than the usual, in order."""
        query = (
            "WITH some AS (SELECT DISTINCT id, part FROM series CROSS JOIN sample ON series = id "
            "WHERE metric = ?1 AND time_us > ?3 AND time_us <= ?4 AND value IS NOT ?2) "
            "SELECT time_us, part, value FROM some CROSS JOIN sample ON series = id "
            "WHERE time_us > ?3 AND time_us <= ?4 ORDER BY time_us"
        )
        rows = self._rows(query, metric, usual, _micro(start_s), _micro(end_s))
        return [(us / MICRO, part, value) for us, part, value in rows]

    def good_polls(self, source: int, at_s: float, count: int = 2) -> list[float]:
        """Return when a source was last seen well by then, the newest first."""
        query = (
            "SELECT time_us FROM poll WHERE source = ? AND error = '' AND time_us <= ? "
            "ORDER BY time_us DESC LIMIT ?"
        )
        return [us / MICRO for (us,) in self._rows(query, source, _micro(at_s), count)]

    def increases(
        self, metric: str, source: int, start_s: float, end_s: float
    ) -> list[tuple[int, float | None, float]]:
        """Return how much each counter grew between two looks, and the seconds it took.

        A counter that stood still has no row; one that is new or went back has None.
        """
        query = (
            "SELECT series.id, now.value - before.value, now.time_us - MAX(?3, before.time_us) "
            "FROM series CROSS JOIN sample AS now ON now.series = series.id "
            "LEFT JOIN sample AS before ON before.series = series.id AND before.time_us = "
            "(SELECT MAX(time_us) FROM sample WHERE series = series.id AND time_us < now.time_us) "
            "WHERE metric = ?1 AND source = ?2 AND now.time_us > ?3 AND now.time_us <= ?4"
        )
        rows = self._rows(query, metric, source, _micro(start_s), _micro(end_s))
        return [
            (number, None if grown is None or grown < 0 or not us else grown, (us or 0) / MICRO)
            for number, grown, us in rows
        ]

    def metrics_of(self, part: str) -> list[str]:
        """Return the metrics that a part has had."""
        rows = self._rows("SELECT DISTINCT metric FROM series WHERE part = ? ORDER BY 1", part)
        return [metric for (metric,) in rows][:MAX_SERIES]

    def series(
        self, part: str, metric: str, start_s: float, end_s: float, *, points: int = 500
    ) -> StoredSeries:
        """Return times and values, thinned by the least and the most of each bin.

        A value that held before the start opens the series; what was missing is None.
        """
        query = (
            "SELECT time_us, value FROM series JOIN sample ON sample.series = series.id "
            "WHERE part = ?1 AND metric = ?2 AND time_us <= ?4 AND time_us >= COALESCE((SELECT "
            "MAX(time_us) FROM sample AS before WHERE before.series = series.id "
            "AND time_us <= ?3), ?3) ORDER BY time_us"
        )
        rows = self._rows(query, part, metric, _micro(start_s), _micro(end_s))
        thin = _thinned(rows, max(2, min(points, MAX_POINTS)))
        return [us / MICRO for us, _ in thin], [value for _, value in thin]

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock, store_errors(self.path):
            return self._file.execute(query, values).fetchall()


def _thinned(rows: list[tuple[int, float | None]], points: int) -> list[tuple[int, float | None]]:
    """Return at most *points* rows: of each run of rows the least and the most, in order."""
    if len(rows) <= points:
        return rows
    size = -(-len(rows) // (points // 2))
    kept: list[tuple[int, float | None]] = []
    for first in range(0, len(rows), size):
        known = [row for row in rows[first : first + size] if row[1] is not None]
        if not known:
            kept.append(rows[first])
            continue
        ends = {
            min(known, key=lambda row: row[1] or 0.0),
            max(known, key=lambda row: row[1] or 0.0),
        }
        kept += sorted(ends)
    return kept


def _micro(time_s: float) -> int:
    return round(time_s * MICRO)
