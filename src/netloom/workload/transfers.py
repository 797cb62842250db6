"""Transfers between endpoints and the order they go in: what the flow and packet engines run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Transfers", "check_transfers", "spans"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfers:
    """Transfers, and what each waits for.

    Transfer i starts ``delay_ps[i]`` after the last of
    ``waits[wait_offsets[i]:wait_offsets[i + 1]]`` has arrived, and not before ``start_ps[i]``.

    Attributes:
        source: Endpoint that sends (a GPU of a fabric, a host of a plain wiring).
        target: Endpoint that receives; another one.
        size_bytes: Payload; at least 1, or 0 for a computation, which takes its delay and sends
            nothing: its source and target are not looked at. Only packets know those.
        start_ps: Earliest start, from the beginning of the run.
        delay_ps: Computation between the last arrival it waits for and its start.
        source_port: The connection's entropy for hashing.
        priority: Traffic class, 0 to 7; engines map it to a queue, virtual lane or weight.
        job: Which job or tenant it belongs to; counts from 0.
        wait_offsets: Where each transfer's waits begin, and the end of the last.
        waits: Indices of transfers.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    source_port: NDArray[np.uint16]
    priority: NDArray[np.uint8]
    job: NDArray[np.int32]
    wait_offsets: NDArray[np.int64]
    waits: NDArray[np.int32]

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self._columns()}
        assert lengths == {len(self.wait_offsets) - 1}, lengths
        assert self.wait_offsets[-1] == len(self.waits)

    def __len__(self) -> int:
        return len(self.source)

    def rows(
        self, keep: NDArray[np.int64], num_waits: NDArray[np.int64], waits: NDArray[np.int64]
    ) -> Transfers:
        """Return the transfers to *keep*, with other waits.

        Args:
            keep: Their numbers.
            num_waits: For how many others each waits.
            waits: For which, by their places in *keep*.
        """
        return replace(
            self,
            source=self.source[keep],
            target=self.target[keep],
            size_bytes=self.size_bytes[keep],
            start_ps=self.start_ps[keep],
            delay_ps=self.delay_ps[keep],
            source_port=self.source_port[keep],
            priority=self.priority[keep],
            job=self.job[keep],
            wait_offsets=np.concatenate([[0], np.cumsum(num_waits)]),
            waits=waits.astype(np.int32),
        )

    def first(self, count: int) -> Transfers:
        """Return the first *count* transfers, waiting for nothing; columns are not copied."""
        return Transfers(
            source=self.source[:count],
            target=self.target[:count],
            size_bytes=self.size_bytes[:count],
            start_ps=self.start_ps[:count],
            delay_ps=self.delay_ps[:count],
            source_port=self.source_port[:count],
            priority=self.priority[:count],
            job=self.job[:count],
            wait_offsets=np.zeros(count + 1, dtype=np.int64),
            waits=np.empty(0, dtype=np.int32),
        )

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        return (
            self.source,
            self.target,
            self.size_bytes,
            self.start_ps,
            self.delay_ps,
            self.source_port,
            self.priority,
            self.job,
        )


def check_transfers(
    transfers: Transfers, num_endpoints: int, *, with_computations: bool = False
) -> None:
    """Raise a SpecError unless every transfer can run on *num_endpoints* endpoints.

    Args:
        transfers: What to run.
        num_endpoints: Where.
        with_computations: Whether transfers of no bytes are computations.
    """
    _check(
        (transfers.source < 0) | (transfers.source >= num_endpoints),
        transfers.source,
        f"is no source; endpoints are 0 to {num_endpoints - 1}",
    )
    _check(
        (transfers.target < 0) | (transfers.target >= num_endpoints),
        transfers.target,
        f"is no target; endpoints are 0 to {num_endpoints - 1}",
    )
    _check(
        transfers.source == transfers.target,
        transfers.source,
        "sends to itself; a transfer joins two different endpoints",
    )
    least = 0 if with_computations else 1
    _check(
        transfers.size_bytes < least, transfers.size_bytes, "bytes; a transfer has at least 1 byte"
    )
    _check(transfers.start_ps < 0, transfers.start_ps, "ps is before the run begins")
    _check(transfers.delay_ps < 0, transfers.delay_ps, "ps of delay; a delay is not negative")
    _check(transfers.priority > 7, transfers.priority, "is no priority; they are 0 to 7")
    _check_waits(transfers)


def _check(wrong: NDArray[np.bool_], value: NDArray[np.generic], what: str) -> None:
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise SpecError(what=f"transfer {first}: {value[first]} {what}")


def _check_waits(transfers: Transfers) -> None:
    wrong = (transfers.waits < 0) | (transfers.waits >= len(transfers))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        first = int(np.searchsorted(transfers.wait_offsets, at, side="right")) - 1
        raise SpecError(
            what=(
                f"transfer {first}: waits for transfer {transfers.waits[at]}, which does not exist"
            )
        )
    stuck = _on_a_cycle(transfers)
    if len(stuck):
        raise SpecError(
            what=(
                f"transfer {stuck[0]}: waits for itself, through others ({len(stuck)} "
                "transfers can never start)"
            ),
            remedy="remove one of the waits",
        )


def _on_a_cycle(transfers: Transfers) -> NDArray[np.int64]:
    """Return the transfers that never start, ascending: those on a cycle and those behind one."""
    left = np.diff(transfers.wait_offsets)
    waiting = np.repeat(np.arange(len(transfers), dtype=np.int64), left)
    if (transfers.waits < waiting).all():  # each waits for earlier ones: collectives do
        return np.empty(0, dtype=np.int64)
    order = np.argsort(transfers.waits, kind="stable")
    followers = waiting[order]
    begin = np.searchsorted(transfers.waits[order], np.arange(len(transfers) + 1))
    ready = np.flatnonzero(left == 0)
    while len(ready):
        reached = followers[spans(begin[ready], begin[ready + 1])]
        left[ready] = -1
        candidates, times = np.unique(reached, return_counts=True)
        left[candidates] -= times
        ready = candidates[left[candidates] == 0]
    return np.flatnonzero(left > 0)


def spans(begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return begin[0], ..., end[0] - 1, begin[1], ...: the numbers of all spans in order."""
    length = end - begin
    before = np.cumsum(length) - length
    shift: NDArray[np.int64] = np.repeat(begin - before, length)
    return np.arange(len(shift), dtype=np.int64) + shift
