"""Keep the store within bounds: single values for some days, windows for some weeks.

What is old is summed up in windows and only then removed, both in one transaction, a few
thousand series at a time, so that the log stays small and a crash leaves each series before or
after the act.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from netloom.errors import OutputError
from netloom.ops.observe.store import KEYFRAME_US, MICRO
from netloom.ops.observe.store_file import WINDOW_COLUMNS, store_errors
from netloom.ops.observe.windows import Summary, summarise

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from netloom.ops.observe.store import ObservationStore

__all__ = ["RetentionLimits", "retain"]

WINDOW_US: Final = 300 * MICRO
AT_ONCE: Final = 2000  # series in one transaction
MAX_TRIES: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """How much of the past is kept.

    Attributes:
        single_s: Single values younger than this.
        window_s: Windows of five minutes, events and polls younger than this.
        most_bytes: When the file would be larger, older ones go first, whatever their age.
    """

    single_s: float = 2 * 86400.0
    window_s: float = 60 * 86400.0
    most_bytes: int = 8 * 2**30


def retain(store: ObservationStore, now_s: float, limits: RetentionLimits) -> None:
    """Bring *store* within *limits*.

    Raises:
        OutputError: it stays too large although all that may go has gone.
    """
    now_us = round(now_s * MICRO)
    single_us, window_us = round(limits.single_s * MICRO), round(limits.window_s * MICRO)
    _cut(store, now_us, single_us=single_us, window_us=window_us)
    for _ in range(MAX_TRIES):
        if store.used_bytes <= limits.most_bytes:
            break
        # First the fine past, down to an hour; then the coarse one; then the last hour.
        if single_us > 3600 * MICRO:
            single_us = min(single_us // 2, _age_us(store, "sample", now_us) // 2)
        else:
            window_us = min(window_us // 2, _age_us(store, "coarse", now_us) // 2)
            single_us //= 2
        _cut(store, now_us, single_us=single_us, window_us=window_us)
    else:
        raise OutputError(
            file=str(store.path),
            what=f"more than {limits.most_bytes:,} bytes although only the last moments are kept",
            remedy="allow it more with --max-size",
        )
    with store_errors(store.path):
        store.connection.execute("PRAGMA incremental_vacuum")
        store.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _age_us(store: ObservationStore, table: str, now_us: int) -> int:
    with store_errors(store.path):
        (oldest_us,) = store.connection.execute(
            f"SELECT MIN(time_us) FROM {table}"  # noqa: S608  (one of our own two tables)
        ).fetchone()
    return now_us if oldest_us is None else max(0, now_us - oldest_us)


# Of each series when its values begin and end, and its windows begin; NULL without any.
_SPANS: Final = (
    "SELECT id, (SELECT MIN(time_us) FROM sample WHERE series = id), "
    "(SELECT MAX(time_us) FROM sample WHERE series = id), "
    "(SELECT MIN(time_us) FROM coarse WHERE series = id) FROM series"
)


def _cut(store: ObservationStore, now_us: int, *, single_us: int, window_us: int) -> None:
    before_us = (now_us - single_us) // WINDOW_US * WINDOW_US
    # A series that is still told has a value younger than this, changed or not.
    dead_us = now_us - max(window_us, 2 * KEYFRAME_US)
    with store_errors(store.path):
        spans = store.connection.execute(_SPANS).fetchall()
    old, dead = set(), set()
    for series, first_us, last_us, window_first_us in spans:
        if last_us is None or last_us < dead_us:
            dead.add(series)
        elif first_us < min(before_us, last_us) or (window_first_us or now_us) < now_us - window_us:
            old.add(series)
    for some in _batches(sorted(old)):
        with store.changing() as file:
            for series in some:
                _sum_up(file, series, before_us)
                file.execute(
                    "DELETE FROM coarse WHERE series = ? AND time_us < ?",
                    (series, now_us - window_us),
                )
    for some in _batches(sorted(dead)):
        with store.changing():
            store.remove_series(set(some))
        store.forget(set(some))
    with store.changing() as file:
        for table in ("event", "poll"):
            query = f"DELETE FROM {table} WHERE time_us < ?"  # noqa: S608  (our own two tables)
            file.execute(query, (now_us - window_us,))
        file.execute("DELETE FROM finding WHERE closed_us < ?", (now_us - window_us,))


def _batches(numbers: Iterable[int]) -> Iterator[list[int]]:
    waiting = iter(numbers)
    while some := list(islice(waiting, AT_ONCE)):
        yield some


def _sum_up(file: sqlite3.Connection, series: int, before_us: int) -> None:
    """Turn the single values of a series from before a time into windows.

    The newest stays whatever its age: it is the value that holds.
    """
    rows = file.execute(
        "SELECT time_us, value FROM sample WHERE series = ?1 AND time_us < ?2 "
        "AND time_us < (SELECT MAX(time_us) FROM sample WHERE series = ?1) ORDER BY time_us",
        (series, before_us),
    ).fetchall()
    if not rows:
        return
    for start, some in groupby(rows, key=lambda row: row[0] // WINDOW_US * WINDOW_US):
        one = summarise(value for _, value in some)
        if one is not None:
            _put(file, series, start, one)
    file.execute(
        "DELETE FROM sample WHERE series = ? AND time_us <= ?",
        (series, rows[-1][0]),
    )


def _put(file: sqlite3.Connection, series: int, start_us: int, one: Summary) -> None:
    """Write a window, joined to what is there of it: values that came before."""
    names = ", ".join(WINDOW_COLUMNS)
    earlier = file.execute(
        f"SELECT {names} FROM coarse WHERE series = ? AND time_us = ?",  # noqa: S608
        (series, start_us),
    ).fetchone()
    if earlier is not None:
        one = Summary(**dict(zip(WINDOW_COLUMNS, earlier, strict=True))) + one
    row = (series, start_us, *(getattr(one, name) for name in WINDOW_COLUMNS))
    file.execute("INSERT OR REPLACE INTO coarse VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
