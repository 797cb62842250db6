"""Transfers in the order in which the core takes them: those that are moved, then the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.workload.transfers import Transfers

__all__ = ["CoreRows", "KnownTimes"]

_NONE: Final = 0xFFFFFFFF  # kNone of the core


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownTimes:
    """Messages that are not moved, because it is known how long they take.

    Attributes:
        is_known: Of each transfer; computations are known in any case.
        kind: Of each transfer, which of the times below it takes.
        busy_ps: Of each kind: for how long a message keeps its connection from the next.
        flight_ps: And what it takes longer to arrive.
        before: Of each transfer, the one that its connection sends before it; -1 for none.
    """

    is_known: NDArray[np.bool_]
    kind: NDArray[np.int32]
    busy_ps: NDArray[np.int64]
    flight_ps: NDArray[np.int64]
    before: NDArray[np.int64]


def _nothing() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoreRows:
    """Rows of work.

    Attributes:
        transfers: Those that are moved first; the others have no bytes.
        num_moved: How many are.
        order: Which of the transfers given each row is; None where all are as given.
        known: Of each row that is not moved, the kind of its time; empty: it takes none.
        busy_ps: Of each kind.
        flight_ps: Of each kind.
        before: Of each row, the one of known time that its connection sends first; empty: none.
        next_known: Of each row that is moved, the one of known time that its connection sends next;
            empty: none.
    """

    transfers: Transfers
    num_moved: int
    order: NDArray[np.int64] | None = None
    known: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    busy_ps: NDArray[np.int64] = field(default_factory=_nothing)
    flight_ps: NDArray[np.int64] = field(default_factory=_nothing)
    before: NDArray[np.int64] = field(default_factory=_nothing)
    next_known: NDArray[np.int64] = field(default_factory=_nothing)

    @classmethod
    def of(cls, transfers: Transfers, times: KnownTimes | None = None) -> CoreRows:
        """Return the rows of *transfers*, of which those in *times* are not moved."""
        moved = transfers.size_bytes > 0
        if times is not None:
            moved &= ~times.is_known
        num_moved = int(np.count_nonzero(moved))
        if num_moved == len(transfers):
            return cls(transfers=transfers, num_moved=num_moved)
        order = np.concatenate([np.flatnonzero(moved), np.flatnonzero(~moved)])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        rows = _ordered(transfers, order, place)
        rows.size_bytes[num_moved:] = 0
        if times is None:
            return cls(transfers=rows, num_moved=num_moved, order=order)
        # Kind 0 takes no time: computations have their delay.
        kind = np.where(times.is_known, times.kind + 1, 0)
        return cls(
            transfers=rows,
            num_moved=num_moved,
            order=order,
            known=kind[order[num_moved:]].astype(np.uint32),
            busy_ps=np.concatenate([[0], times.busy_ps]),
            flight_ps=np.concatenate([[0], times.flight_ps]),
            before=_before(times, order, place),
            next_known=_next_known(times, order, place)[:num_moved],
        )

    def arrays(self, num_parts: NDArray[np.int64] | None = None) -> Columns:
        """Return what the core takes, where each row is cut into *num_parts*; default: 1."""
        before, next_known = self.before, self.next_known
        if num_parts is not None:
            first = np.cumsum(num_parts) - num_parts
            if len(before):
                before = np.repeat(_part(before, first), num_parts)
            if len(next_known):
                next_known = np.repeat(_part(next_known, first), num_parts[: self.num_moved])
        return {
            "known": self.known,
            "busy_ps": self.busy_ps,
            "flight_ps": self.flight_ps,
            "before": np.where(before >= 0, before, _NONE).astype(np.uint32),
            "next_known": np.where(next_known >= 0, next_known, _NONE).astype(np.uint32),
        }

    def as_given(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of all rows in the order of the transfers given."""
        if self.order is None:
            return column
        found = np.empty_like(column)
        found[self.order] = column
        return found


def _part(row: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(row >= 0, first[row], -1)


def _ordered(transfers: Transfers, order: NDArray[np.int64], place: NDArray[np.int64]) -> Transfers:
    begin, end = transfers.wait_offsets[order], transfers.wait_offsets[order + 1]
    waits = place[transfers.waits[spans(begin, end)]]
    return transfers.rows(order, end - begin, waits)


def _before(
    times: KnownTimes, order: NDArray[np.int64], place: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the row of known time before each on its connection; nothing where none has one."""
    before = times.before[order]
    waits = (before >= 0) & times.is_known[before]
    if not waits.any():
        return np.empty(0, dtype=np.int64)
    return np.where(waits, place[before], -1)


def _next_known(
    times: KnownTimes, order: NDArray[np.int64], place: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the row of known time behind each on its connection."""
    follows = np.flatnonzero(times.is_known & (times.before >= 0))
    found = np.full(len(order), -1, dtype=np.int64)
    found[place[times.before[follows]]] = place[follows]
    return found
