"""How numbers went over a window: what was said at each look, from a store that keeps changes.

A store writes a value when it changes; a track with the times of the good looks at its source
tells what was said at each of them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from netloom.ops.observe.store import MICRO
from netloom.ops.observe.store_file import store_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.ops.observe.store import ObservationStore

__all__ = ["Track", "looks_of", "tracks_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The values of one number that held in a window, oldest first.

    Attributes:
        source: Who tells it.
        times_s: When each was first so; the first may lie before the window.
        values: None where the source told it no more.
    """

    source: str
    times_s: tuple[float, ...]
    values: tuple[float | None, ...]

    @property
    def last(self) -> float | None:
        """The value that holds now; None when it is told no more."""
        return self.values[-1]

    @property
    def since_s(self) -> float:
        """Since when the last value holds."""
        place = len(self.values) - 1
        while place and self.values[place - 1] == self.values[-1]:
            place -= 1
        return self.times_s[place]

    def num_looks(self, looks: Mapping[str, Sequence[float]]) -> int:
        """Return at how many looks in a row, up to the last, the last value was told."""
        times = looks.get(self.source, ())
        return len(times) - bisect_left(times, self.since_s)

    def rises(self) -> Iterator[tuple[float, float, float]]:
        """Give between which times a counter rose and by how much, and NaN where it fell.

        A fall is a reset or a wrap; how much was counted across it is not known. One to zero
        from which it comes back to where it was, or higher, was an answer that got lost.
        """
        known = [(t, v) for t, v in zip(self.times_s, self.values, strict=True) if v is not None]
        lost: float | None = None
        for (since_s, before), (time_s, after) in pairwise(known):
            start = lost if before == 0 and lost is not None and after >= lost else before
            if after < before:
                lost = before if after == 0 else None
                yield since_s, time_s, float("nan")
            elif after > start:
                yield since_s, time_s, after - start


def looks_of(store: ObservationStore, start_s: float, end_s: float) -> dict[str, tuple[float, ...]]:
    """Return when each source was looked at with success from *start_s* to *end_s*, ascending."""
    query = (
        "SELECT name, time_us FROM poll JOIN source ON source.id = poll.source "
        "WHERE error = '' AND time_us >= ? AND time_us <= ? ORDER BY name, time_us"
    )
    with store_errors(store.path):
        rows = store.connection.execute(query, _micro(start_s, end_s)).fetchall()
    by_source = groupby(rows, key=lambda row: row[0])
    return {name: tuple(time_us / MICRO for _, time_us in some) for name, some in by_source}


_AT_START: Final = "(SELECT MAX(time_us) FROM sample WHERE series = series.id AND time_us <= ?1)"
_AT_END: Final = "(SELECT MAX(time_us) FROM sample WHERE series = series.id AND time_us <= ?2)"
_NEXT: Final = "(SELECT MIN(time_us) FROM sample WHERE series = series.id AND time_us > ?1)"
_ALL: Final = f"time_us <= ?2 AND time_us >= COALESCE({_AT_START}, ?1)"
_ENDS: Final = f"time_us IN (COALESCE({_AT_START}, {_NEXT}), {_AT_END})"


def tracks_of(
    store: ObservationStore, metric: str, start_s: float, end_s: float, *, only_ends: bool = False
) -> dict[str, Track]:
    """Return, for each part, the values of *metric* that held from *start_s* to *end_s*.

    Where several sources tell the same number, the one with the most values counts.

    Args:
        store: Where they are.
        metric: Which number.
        start_s: From when.
        end_s: Until when.
        only_ends: The first and the last are enough, of a number that changes all the time.
    """
    query = (
        "SELECT series.id, name, part, time_us, value FROM series "  # noqa: S608  (our own words)
        "JOIN source ON source.id = series.source JOIN sample ON sample.series = series.id "
        f"WHERE metric = ?3 AND {_ENDS if only_ends else _ALL} ORDER BY series.id, time_us"
    )
    with store_errors(store.path):
        rows = store.connection.execute(query, (*_micro(start_s, end_s), metric)).fetchall()
    found: dict[str, Track] = {}
    for _, some in groupby(rows, key=lambda row: row[0]):
        own = list(some)
        _, source, part, _, _ = own[0]
        if part in found and len(found[part].values) >= len(own):
            continue
        times_s = tuple(time_us / MICRO for *_, time_us, _ in own)
        found[part] = Track(source=source, times_s=times_s, values=tuple(row[-1] for row in own))
    return found


def _micro(start_s: float, end_s: float) -> tuple[int, int]:
    return round(start_s * MICRO), round(end_s * MICRO)
