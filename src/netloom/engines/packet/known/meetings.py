"""Messages that are on a link at a time with more than it bears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.engines.packet.known.message_ways import MessageWays

__all__ = ["Meetings"]

_WHOLE: Final = 1 << 20  # a link's load in whole numbers, so that sums are exact
_SLACK: Final = 1 << 8  # of rounding: shares of up to 256 connections
_CHUNK: Final = 4_000_000  # messages on links that are looked at together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Meetings:
    """Who may meet whom: the links that bear less than all of their connections at once.

    Attributes:
        connection: Of each transfer; -1 for a computation.
        rows: The transfers of each connection, one after another.
        begin: Where those of each connection begin in *rows*, and the end.
        link: Of each entry, ascending: a link on which connections may meet.
        owner: And a connection that takes it.
        load: How much of it, of `_WHOLE`.
    """

    connection: NDArray[np.int64]
    rows: NDArray[np.int64]
    begin: NDArray[np.int64]
    link: NDArray[np.int64]
    owner: NDArray[np.int64]
    load: NDArray[np.int64]

    @classmethod
    def of(cls, ways: MessageWays) -> Meetings:
        """Return those of connections that take these ways."""
        order = np.argsort(ways.connection, kind="stable")
        rows = order[np.searchsorted(ways.connection[order], 0) :]
        begin = np.searchsorted(ways.connection[rows], np.arange(ways.num_connections + 1))
        load = np.rint(ways.load * _WHOLE).astype(np.int64)
        link, owner, load = _crowdable(ways.link, ways.owner, load)
        return cls(
            connection=ways.connection, rows=rows, begin=begin, link=link, owner=owner, load=load
        )

    def in_turn(
        self, ready_ps: NDArray[np.int64], takes_ps: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return when each message is sent if it takes that long: behind those before it.

        Args:
            ready_ps: From when on it may be sent; of a computation it is returned.
            takes_ps: For how long it keeps its connection.
        """
        count = np.diff(self.begin)
        takes = takes_ps[self.rows]
        total = np.cumsum(takes)
        first = self.begin[:-1]
        sooner = total - takes - np.repeat(total[first] - takes[first], count)
        # A connection is never idle between the last message that came late and this one.
        idle = _highest_so_far(ready_ps[self.rows] - sooner, count)
        found = ready_ps.copy()
        found[self.rows] = idle + sooner
        return found

    def meet(self, begin_ps: NDArray[np.int64], end_ps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the transfers that are on a link while it is asked for more than it bears."""
        found = np.zeros(len(begin_ps), dtype=np.bool_)
        for link, owner, load in self._chunks():
            count = np.diff(self.begin)[owner]
            row = self.rows[spans(self.begin[owner], self.begin[owner + 1])]
            crowded = _crowded(
                np.repeat(link, count), begin_ps[row], end_ps[row], np.repeat(load, count)
            )
            found[row[crowded]] = True
        return found

    def _chunks(
        self,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Give entries of whole links, some at a time."""
        link, owner, load = self.link, self.owner, self.load
        size = np.cumsum(np.diff(self.begin)[owner])
        at = 0
        while at < len(link):
            before = size[at - 1] if at else 0
            end = int(np.searchsorted(size, before + _CHUNK, side="right"))
            end = max(end, at + 1)
            end = int(np.searchsorted(link, link[end - 1], side="right"))
            yield link[at:end], owner[at:end], load[at:end]
            at = end


def _highest_so_far(values: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the highest of each value and those before it in its group; groups have *count*."""
    group = np.repeat(np.arange(len(count)), count)
    low = values.min(initial=0)
    span = int(values.max(initial=0)) - int(low) + 1
    if len(count) * span < 1 << 62:
        offset = group * span - low
        return np.asarray(np.maximum.accumulate(values + offset) - offset)
    distinct, rank = np.unique(values, return_inverse=True)
    offset = group * len(distinct)
    return np.asarray(distinct[np.maximum.accumulate(rank.reshape(-1) + offset) - offset])


def _crowdable(
    link: NDArray[np.int64], owner: NDArray[np.int64], load: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the entries of links that cannot bear all their connections, of equal ones the first.

    Links with the same connections and loads, such as all that a switch chooses from, say the same.
    """
    if not len(link):
        return link, owner, load
    order = np.argsort(link, kind="stable")
    link, owner, load = link[order], owner[order], load[order]
    first = np.flatnonzero(np.diff(link, prepend=-1))
    total = np.add.reduceat(load, first)
    with np.errstate(over="ignore"):
        drawn = np.random.default_rng(0).integers(0, 1 << 63, int(owner.max()) + 1, dtype=np.uint64)
        prints = np.add.reduceat(drawn[owner] * (load.astype(np.uint64) * np.uint64(2) + 1), first)
    one = np.zeros(len(first), dtype=np.bool_)
    one[np.unique(prints, return_index=True)[1]] = True
    keep = np.repeat(one & (total > _WHOLE + _SLACK), np.diff(np.append(first, len(link))))
    return link[keep], owner[keep], load[keep]


def _crowded(
    group: NDArray[np.int64],
    begin_ps: NDArray[np.int64],
    end_ps: NDArray[np.int64],
    load: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return who is in its group at a time when the loads of those in it are more than a whole."""
    count = len(group)
    if not count:
        return np.zeros(0, dtype=np.bool_)
    group = group - group.min()
    if (int(group.max()) + 1) * (int(end_ps.max()) + 2) >= 1 << 61:  # ranks in place of times
        rank = np.unique(np.concatenate([begin_ps, end_ps]), return_inverse=True)[1].reshape(-1)
        begin_ps, end_ps = rank[:count], rank[count:]
    span = int(end_ps.max()) + 2
    # Ends come before beginnings of the same time.
    key = np.concatenate([(group * span + begin_ps) * 2 + 1, (group * span + end_ps) * 2])
    order = np.argsort(key, kind="stable")
    change = np.concatenate([load, -load])[order]
    over = np.cumsum(np.cumsum(change) > _WHOLE + _SLACK)
    place = np.empty(2 * count, dtype=np.int64)
    place[order] = np.arange(2 * count)
    first, last = place[:count], place[count:]
    before = np.where(first > 0, over[first - 1], 0)
    return np.asarray(over[last - 1] > before)
