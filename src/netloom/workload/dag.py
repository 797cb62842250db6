"""Transfers under construction: pieces of traffic are laid side by side or one after another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Dag", "Label", "beside", "then", "to_transfers"]

# RoCEv2 senders draw their UDP source port from 0xC000 to 0xFFFF: Linux ib_verbs.h,
# rdma_flow_label_to_udp_sport.
FIRST_PORT: Final = 0xC000
NUM_PORTS: Final = 0x4000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dag:
    """Transfers and who waits for whom.

    Attributes:
        source: Endpoint that sends.
        target: Endpoint that receives.
        size_bytes: Payload.
        connection: Transfers of one number, source and target share a connection, hence a path.
        start_ps: Earliest start.
        delay_ps: Computation before it, once what it waits for has arrived.
        waiter: For each pair of transfers, the one that waits.
        waited: And the one it waits for.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    size_bytes: NDArray[np.int64]
    connection: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    waiter: NDArray[np.int64]
    waited: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def of(
        cls,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        size_bytes: NDArray[np.int64] | int,
        *,
        connection: NDArray[np.int64] | int = 0,
        start_ps: NDArray[np.int64] | int = 0,
        waits: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Dag:
        """Return a dag; single numbers stand for whole columns."""
        none = np.empty(0, dtype=np.int64)
        waiter, waited = waits or (none, none)
        columns = (size_bytes, connection, start_ps)
        size, number, start = (_column(value, len(source)) for value in columns)
        return cls(
            source=source.astype(np.int64),
            target=target.astype(np.int64),
            size_bytes=size,
            connection=number,
            start_ps=start,
            delay_ps=np.zeros(len(source), dtype=np.int64),
            waiter=waiter,
            waited=waited,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What all transfers of one piece of traffic have in common.

    Attributes:
        priority: Traffic class, 0 to 7.
        job: The number of the tenant.
    """

    priority: int = 0
    job: int = 0


def _column(value: NDArray[np.int64] | int, length: int) -> NDArray[np.int64]:
    return np.broadcast_to(np.asarray(value, dtype=np.int64), (length,)).copy()


def beside(dags: Sequence[Dag]) -> Dag:
    """Return all *dags* at once; their connections stay apart."""
    begin = list(accumulate((len(dag) for dag in dags), initial=0))
    spans = [int(dag.connection.max(initial=-1)) + 1 for dag in dags]
    first = list(accumulate(spans, initial=0))
    return Dag(
        source=_joined([dag.source for dag in dags]),
        target=_joined([dag.target for dag in dags]),
        size_bytes=_joined([dag.size_bytes for dag in dags]),
        connection=_joined([dag.connection + n for dag, n in zip(dags, first, strict=False)]),
        start_ps=_joined([dag.start_ps for dag in dags]),
        delay_ps=_joined([dag.delay_ps for dag in dags]),
        waiter=_joined([dag.waiter + n for dag, n in zip(dags, begin, strict=False)]),
        waited=_joined([dag.waited + n for dag, n in zip(dags, begin, strict=False)]),
    )


def then(first: Dag, second: Dag, *, delay_ps: int = 0) -> Dag:
    """Return *first* followed by *second*.

    What an endpoint sends first in *second* waits for everything that *first* brings it last,
    and *delay_ps* more. Equal connections of the two are one.
    """
    last = np.ones(len(first), dtype=np.bool_)
    last[first.waited] = False
    begins = np.ones(len(second), dtype=np.bool_)
    begins[second.waiter] = False
    ends, roots = np.flatnonzero(last), np.flatnonzero(begins)
    order = np.argsort(first.target[ends], kind="stable")
    ends = ends[order]
    arriving = first.target[ends]
    low = np.searchsorted(arriving, second.source[roots], side="left")
    count = np.searchsorted(arriving, second.source[roots], side="right") - low
    owner = np.repeat(np.arange(len(roots)), count)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + low[owner]
    both = beside([first, second])
    both.delay_ps[len(first) + roots] += delay_ps
    return replace(
        both,
        connection=np.concatenate([first.connection, second.connection]),
        waiter=np.concatenate([both.waiter, len(first) + roots[owner]]),
        waited=np.concatenate([both.waited, ends[position]]),
    )


def to_transfers(
    dags: Sequence[Dag], labels: Sequence[Label], *, rng: np.random.Generator
) -> Transfers:
    """Return the *dags*, each with its label, as transfers; *rng* draws a port per connection."""
    whole = beside(dags)
    lengths = [len(dag) for dag in dags]
    order = np.lexsort((whole.waited, whole.waiter))
    waiting = np.bincount(whole.waiter, minlength=len(whole)).astype(np.int64)
    return Transfers(
        source=whole.source.astype(np.int32),
        target=whole.target.astype(np.int32),
        size_bytes=whole.size_bytes,
        start_ps=whole.start_ps,
        delay_ps=whole.delay_ps,
        source_port=_ports(whole, rng),
        priority=np.repeat([label.priority for label in labels], lengths).astype(np.uint8),
        job=np.repeat([label.job for label in labels], lengths).astype(np.int32),
        wait_offsets=np.concatenate([[0], np.cumsum(waiting)]),
        waits=whole.waited[order].astype(np.int32),
    )


def _ports(dag: Dag, rng: np.random.Generator) -> NDArray[np.uint16]:
    span = int(max(dag.source.max(initial=0), dag.target.max(initial=0))) + 1
    key = (dag.connection * span + dag.source) * span + dag.target
    assert int(dag.connection.max(initial=0) + 1) * span * span < 1 << 63, span
    distinct, number = np.unique(key, return_inverse=True)
    drawn = rng.integers(0, NUM_PORTS, size=len(distinct))
    port = FIRST_PORT + _apart(distinct % (span * span), drawn)
    return np.asarray(port[number], dtype=np.uint16)


def _apart(pair: NDArray[np.int64], drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return *drawn* with what a pair drew twice moved on to the next number that is free.

    A pair with more connections than there are ports keeps what it drew.
    """
    _, which, count = np.unique(pair, return_inverse=True, return_counts=True)
    port = drawn.copy()
    while True:
        order = np.lexsort((port, pair))
        again = np.diff(pair[order], prepend=-1) == 0
        again &= np.diff(port[order], prepend=-1) == 0
        again &= count[which[order]] <= NUM_PORTS
        if not again.any():
            return port
        port[order[again]] = (port[order[again]] + 1) % NUM_PORTS


def _joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
