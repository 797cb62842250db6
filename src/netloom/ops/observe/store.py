"""Everything that was seen, in one SQLite file that survives a crash at any moment.

A reading goes in as one transaction, its cursor included, and is acknowledged when it is on disk
(write-ahead log, synchronous): after kill -9 or a power cut the file holds exactly the readings
that were acknowledged, and perhaps one more. A collector then goes on from the cursor that was
stored with them, so nothing is missing and nothing is there twice.

Of a source that tells all it knows with every look, a value that did not change is not written
again, but for one an hour, and a number that it gives no more is written as missing. So the value
at a time is that of the last row before it, for as long as the polls of its source went well.
What other sources tell, such as the steps of a job, is written one by one.
"""

from __future__ import annotations

import math
import os
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from netloom.errors import OutputError
from netloom.ops.observe.observation import Event, Observation
from netloom.ops.observe.store_file import (
    WINDOW_COLUMNS,
    locked,
    names_in,
    opened,
    store_errors,
)
from netloom.ops.observe.windows import Summary, summarise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.ops.observe.observation import Reading

__all__ = ["KEYFRAME_US", "MICRO", "ObservationStore", "Poll"]

MICRO: Final = 1_000_000  # times are whole microseconds since 1970
KEYFRAME_US: Final = 3600 * MICRO
# 65,536 NIC ports below three tiers of switches are 393,216 ports; 19 numbers each, 7.5 million.
MAX_SERIES: Final = 10_000_000
MAX_TEXT: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One look at a source, as it was recorded."""

    source: str
    time_s: float
    took_s: float
    num_observations: int
    error: str


@dataclass(slots=True)
class _Series:
    """What is known of a series without asking the file."""

    id: int
    value: float | None
    written_us: int


class ObservationStore:
    """One store, open for writing; at most one process has it so."""

    def __init__(self, path: Path) -> None:
        """Open the store at *path*, made where there is none.

        Raises:
            OutputError: it is no store, another netloom writes to it, or the disk is full.
        """
        self.path = path
        self._lock = locked(path)
        try:
            with store_errors(path):
                self._file = opened(path)
                self._names = names_in(self._file)
                self._sources = dict(self._rows("SELECT name, id FROM source"))
                self._series, self._live = self._known()
        except BaseException:
            os.close(self._lock)
            raise

    def close(self) -> None:
        """Write the log back into the file and let go of it."""
        with suppress(sqlite3.OperationalError):  # no space; the next to open it reads the log
            self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._file.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, reading: Reading) -> int:
        """Write a reading, all of it or nothing, and return how many rows of values it took.

        When this returns, it is on disk.

        Raises:
            OutputError: the disk is full or fails, or there are too many series; nothing was
                written.
        """
        time_us = _micro(reading.time_s)
        with store_errors(self.path), self._transaction():
            source = self._source(reading.source)
            changed = self._write(source, reading, time_us)
            self._file.executemany(
                "INSERT OR IGNORE INTO event (source, key, time_us, part, kind, text) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [_event_row(source, event) for event in reading.events],
            )
            took_us = _micro(reading.took_s)
            row = (time_us, source, took_us, len(reading.observations), reading.error[:MAX_TEXT])
            self._file.execute("INSERT OR REPLACE INTO poll VALUES (?, ?, ?, ?, ?)", row)
            self._file.execute(
                "UPDATE source SET cursor = ? WHERE id = ?", (reading.cursor, source)
            )
        for series, value, written_us in changed:  # remembered only once it is on disk
            series.value, series.written_us = value, written_us
        return len(changed)

    def cursor(self, source: str) -> str:
        """Return the cursor that was stored last for a source; empty without one."""
        with store_errors(self.path):
            rows = self._rows("SELECT cursor FROM source WHERE name = ?", source)
        return str(rows[0][0]) if rows else ""

    def latest(self) -> Iterator[tuple[str, str, str, float]]:
        """Give source, part, metric and value of every series that has one now."""
        names = {number: name for name, number in self._sources.items()}
        for (source, part, metric), series in self._series.items():
            if series.value is not None:
                yield names[source], part, metric, series.value

    def values(self, part: str, metric: str, start_s: float, end_s: float) -> list[Observation]:
        """Return the values written from *start_s* to before *end_s*, oldest first.

        Of a time whose single values are no longer kept there is the mean of each window.
        """
        query = (
            "SELECT time_us, total / count FROM coarse JOIN series ON series.id = coarse.series "
            "WHERE part = ?1 AND metric = ?2 AND time_us >= ?3 AND time_us < ?4 UNION ALL "
            "SELECT time_us, value FROM sample JOIN series ON series.id = sample.series "
            "WHERE part = ?1 AND metric = ?2 AND time_us >= ?3 AND time_us < ?4 "
            "AND value IS NOT NULL ORDER BY 1"
        )
        with store_errors(self.path):
            rows = self._rows(query, part, metric, _micro(start_s), _micro(end_s))
        return [Observation(time_us / MICRO, part, metric, value) for time_us, value in rows]

    def window(self, metric: str, start_s: float, end_s: float) -> dict[str, Summary]:
        """Return, for each part, the values of *metric* that held from *start_s* to *end_s*.

        The value that held at the start is the first, whenever it was written; a part without
        any value is left out. Where several sources tell the same number, the one with the most
        values counts. Where single values are no longer kept, times are as exact as the windows
        they were summed up in.
        """
        found: dict[str, Summary] = {}
        with store_errors(self.path):
            ids = self._rows("SELECT id, part FROM series WHERE metric = ? ORDER BY id", metric)
            for series, part in ids:
                summary = self._summary(series, _micro(start_s), _micro(end_s))
                known = found.get(part)
                if summary is not None and (known is None or summary.count > known.count):
                    found[part] = summary
        return found

    def events(self, start_s: float, end_s: float) -> list[Event]:
        """Return the events from *start_s* to before *end_s*, oldest first."""
        query = (
            "SELECT time_us, part, kind, text, key FROM event "
            "WHERE time_us >= ? AND time_us < ? ORDER BY time_us, id"
        )
        with store_errors(self.path):
            rows = self._rows(query, _micro(start_s), _micro(end_s))
        return [
            Event(time_s=time_us / MICRO, part=part, kind=kind, text=text, key=key)
            for time_us, part, kind, text, key in rows
        ]

    def last_polls(self) -> tuple[Poll, ...]:
        """Return the last look at each source, whether it went well or not, by name."""
        return self._polls("MAX(time_us)", "")

    def last_good_polls(self) -> tuple[Poll, ...]:
        """Return the last look at each source that went well, by name."""
        return self._polls("MAX(time_us)", "WHERE error = ''")

    def num_rows(self) -> dict[str, int]:
        """Return how many rows each table has."""
        tables = ("series", "sample", "coarse", "event", "poll", "finding")
        with store_errors(self.path):
            return {name: self._rows(f"SELECT COUNT(*) FROM {name}")[0][0] for name in tables}  # noqa: S608

    @property
    def used_bytes(self) -> int:
        """What the file takes, free pages inside it not counted."""
        pages, free, size = (
            self._rows(f"PRAGMA {name}")[0][0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    @property
    def connection(self) -> sqlite3.Connection:
        """The open file, for :mod:`netloom.ops.observe.retention` alone."""
        return self._file

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the open file to read from."""
        with store_errors(self.path):
            yield self._file

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Give the open file in a transaction that is written when the block ends well."""
        with store_errors(self.path), self._transaction():
            yield self._file

    def remove_series(self, numbers: set[int]) -> None:
        """Remove series and all their values, in the transaction that is open."""
        for table in ("sample", "coarse"):
            query = f"DELETE FROM {table} WHERE series = ?"  # noqa: S608  (our own two tables)
            self._file.executemany(query, [(number,) for number in numbers])
        self._names.remove(numbers)

    def forget(self, numbers: set[int]) -> None:
        """Remember no more the series of these numbers, which are in the file no more."""
        self._series = {key: one for key, one in self._series.items() if one.id not in numbers}
        self._live = {source: some - numbers for source, some in self._live.items()}

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._file.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        sources = dict(self._sources)
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            self._sources = sources
            self._names = names_in(self._file)
            self._series, self._live = self._known()
            raise

    def _known(self) -> tuple[dict[tuple[int, str, str], _Series], dict[int, set[int]]]:
        """Return every series with its last value, and those of each source that have one."""
        query = (
            "SELECT id, source, part, metric, time_us, value FROM series LEFT JOIN sample ON "
            "series = id AND time_us = (SELECT MAX(time_us) FROM sample WHERE series = id)"
        )
        series: dict[tuple[int, str, str], _Series] = {}
        live: dict[int, set[int]] = {}
        for number, source, part, metric, time_us, value in self._file.execute(query):
            written_us = -KEYFRAME_US if time_us is None else time_us
            series[source, part, metric] = _Series(number, value, written_us)
            if value is not None:
                live.setdefault(source, set()).add(number)
        return series, live

    def _source(self, name: str) -> int:
        if name not in self._sources:
            made = self._file.execute("INSERT INTO source (name) VALUES (?)", (name,))
            assert made.lastrowid is not None
            self._sources[name] = made.lastrowid
        return int(self._sources[name])

    def _write(
        self, source: int, reading: Reading, time_us: int
    ) -> list[tuple[_Series, float | None, int]]:
        changed: list[tuple[_Series, float | None, int]] = []
        seen: set[int] = set()
        for one in reading.observations:
            assert math.isfinite(one.value), one
            series = self._series_of(source, one.part, one.metric)
            seen.add(series.id)
            at_us = _micro(one.time_s)
            same = one.value == series.value and at_us - series.written_us < KEYFRAME_US
            if not (reading.is_whole and same):
                changed.append((series, one.value, at_us))
        self._names.flush()
        if reading.is_whole and not reading.error:
            gone = self._live.get(source, set()) - seen
            changed += self._gone(source, gone, time_us)
            self._live[source] = seen
        self._file.executemany(
            "INSERT OR REPLACE INTO sample VALUES (?, ?, ?)",
            [(series.id, at_us, value) for series, value, at_us in changed],
        )
        return changed

    def _gone(
        self, source: int, numbers: set[int], time_us: int
    ) -> list[tuple[_Series, float | None, int]]:
        if not numbers:
            return []
        return [
            (series, None, time_us)
            for key, series in self._series.items()
            if key[0] == source and series.id in numbers and series.value is not None
        ]

    def _series_of(self, source: int, part: str, metric: str) -> _Series:
        key = (source, part, metric)
        if key not in self._series:
            if len(self._series) >= MAX_SERIES:
                raise OutputError(
                    what=f"more than {MAX_SERIES:,} series", remedy="watch fewer parts"
                )
            self._series[key] = _Series(self._names.add(*key), None, -KEYFRAME_US)
        return self._series[key]

    def _summary(self, series: int, start_us: int, end_us: int) -> Summary | None:
        held = self._rows(
            "SELECT value FROM sample WHERE series = ?1 AND time_us < ?2 "
            "AND NOT EXISTS (SELECT 1 FROM sample WHERE series = ?1 AND time_us = ?2) "
            "ORDER BY time_us DESC LIMIT 1",
            *(series, start_us),
        ) or self._rows(
            "SELECT last FROM coarse WHERE series = ?1 AND time_us < ?2 "
            "AND NOT EXISTS (SELECT 1 FROM sample WHERE series = ?1 AND time_us = ?2) "
            "ORDER BY time_us DESC LIMIT 1",
            *(series, start_us),
        )
        windows = self._rows(
            f"SELECT {', '.join(WINDOW_COLUMNS)} FROM coarse "  # noqa: S608  (our own columns)
            "WHERE series = ? AND time_us >= ? AND time_us < ? ORDER BY time_us",
            *(series, start_us, end_us),
        )
        raw = self._rows(
            "SELECT value FROM sample WHERE series = ? AND time_us >= ? AND time_us < ? "
            "ORDER BY time_us",
            *(series, start_us, end_us),
        )
        parts = [
            summarise(value for (value,) in held),
            *(Summary(**dict(zip(WINDOW_COLUMNS, row, strict=True))) for row in windows),
            summarise(value for (value,) in raw),
        ]
        some = [part for part in parts if part is not None]
        return sum(some[1:], start=some[0]) if some else None

    def _polls(self, which: str, condition: str) -> tuple[Poll, ...]:
        query = (
            f"SELECT name, {which}, took_us, num_observations, error FROM poll "  # noqa: S608
            f"JOIN source ON source.id = poll.source {condition} GROUP BY name ORDER BY name"
        )
        with store_errors(self.path):
            rows = self._rows(query)
        return tuple(
            Poll(
                source=name,
                time_s=time_us / MICRO,
                took_s=took_us / MICRO,
                num_observations=count,
                error=error,
            )
            for name, time_us, took_us, count, error in rows
        )


def _micro(time_s: float) -> int:
    return round(time_s * MICRO)


def _event_row(source: int, event: Event) -> tuple[object, ...]:
    text = event.text[:MAX_TEXT]
    return (source, event.key[:MAX_TEXT], _micro(event.time_s), event.part, event.kind, text)
