"""Collectives as transfers that wait for one another, for engines that see every message.

A rank forwards a piece as soon as it has arrived; nothing else orders a ring. Sizes are as
nccl-tests counts them, and are divided to the byte: what arrives is what was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.errors import SpecError
from netloom.workload.dag import Dag, beside, then

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "Ranks",
    "all_to_all",
    "broadcast",
    "gather",
    "halving_doubling",
    "hierarchical",
    "rail_rings",
    "ring",
    "scatter",
    "send_recv",
]

Ranks = "NDArray[np.int64]"
RingKind = Literal["all-reduce", "all-gather", "reduce-scatter"]

# Pieces of one message that are on their way over a hop at a time. NCCL has 8 slots of a buffer
# (NCCL_STEPS) and posts a slice when its slot is free; two keep a link busy, fewer events do.
IN_FLIGHT: Final = 2


def ring(
    kind: RingKind, orders: Sequence[NDArray[np.int64]], size_bytes: int, *, slices: int = 1
) -> Dag:
    """Return a collective over one ring, or over several that share the bytes evenly.

    n - 1 steps (all-gather, reduce-scatter) or 2 (n - 1) (all-reduce), in each of which every
    rank sends a chunk of 1/n to the next.

    Args:
        kind: Which collective.
        orders: For each ring (channel) the endpoints in the order it visits them.
        size_bytes: Of the whole vector.
        slices: Pieces a chunk is cut into, each forwarded on its own.

    Raises:
        SpecError: there are fewer bytes than pieces.
    """
    shares = _shares(size_bytes, len(orders), 1, kind)[:, 0]
    laps = 2 if kind == "all-reduce" else 1
    return beside(
        [
            _one_ring(order, int(share), num_steps=laps * (len(order) - 1), slices=slices)
            for order, share in zip(orders, shares, strict=True)
        ]
    )


def _one_ring(order: NDArray[np.int64], size_bytes: int, *, num_steps: int, slices: int) -> Dag:
    n = len(order)
    pieces = _shares(size_bytes, n, slices, "a ring")
    step, rank, piece = (
        axis.reshape(-1)
        for axis in np.meshgrid(
            np.arange(num_steps), np.arange(n), np.arange(slices), indexing="ij"
        )
    )
    index = np.arange(len(step))
    behind = (rank - 1) % n
    received = ((step - 1) * n + behind) * slices + piece
    later = step > 0
    queued = (step == 0) & (piece >= IN_FLIGHT)
    waiter = np.concatenate([index[later], index[queued]])
    waited = np.concatenate([received[later], index[queued] - IN_FLIGHT])
    return Dag.of(
        order[rank],
        order[(rank + 1) % n],
        pieces[(rank - step) % n, piece],
        waits=(waiter, waited),
    )


def rail_rings(nodes: Sequence[NDArray[np.int64]], num_channels: int) -> list[NDArray[np.int64]]:
    """Return rings that enter and leave each node on one rail.

    Channel c visits the first node from its GPU c upwards round to c - 1, the next one from
    c - 1 downwards, and so on, so that every hop between nodes joins GPUs of one index. Only
    where the number of nodes is odd the last hop changes rails. NCCL builds such rings where
    NICs of different rails cannot talk (NCCL_CROSS_NIC=0; recalled).

    Args:
        nodes: The members of each node, equally many, in order of their place in it.
        num_channels: How many rings.
    """
    orders = []
    for channel in range(num_channels):
        turned = [np.roll(members, -(channel % len(members))) for members in nodes]
        way = [up if place % 2 == 0 else up[::-1] for place, up in enumerate(turned)]
        orders.append(np.concatenate(way))
    return orders


def hierarchical(nodes: Sequence[NDArray[np.int64]], size_bytes: int, *, slices: int = 1) -> Dag:
    """Return an all-reduce: scattered inside nodes, reduced between them, gathered inside.

    Raises:
        SpecError: nodes hold unequal numbers of members, or there are fewer bytes than pieces.
    """
    width = len(nodes[0])
    if any(len(members) != width for members in nodes):
        raise SpecError(
            what="hierarchical: the nodes hold unequal numbers of members",
            remedy="choose whole nodes",
        )
    if len(nodes) == 1:
        return ring("all-reduce", [nodes[0]], size_bytes, slices=slices)
    shares = _shares(size_bytes, width, 1, "hierarchical")[:, 0].tolist()
    columns = np.stack(nodes).T
    between = beside(
        [
            ring("all-reduce", [column], share, slices=slices)
            for column, share in zip(columns, shares, strict=True)
        ]
    )
    if width == 1:
        return between
    scatter, gather = (
        beside([ring(kind, [members], size_bytes, slices=slices) for members in nodes])
        for kind in ("reduce-scatter", "all-gather")
    )
    return then(then(scatter, between), gather)


def halving_doubling(ranks: NDArray[np.int64], size_bytes: int) -> Dag:
    """Return an all-reduce by recursive halving and doubling.

    Thakur, Rabenseifner and Gropp (2005), section 4.2.

    Raises:
        SpecError: the number of ranks is no power of two, or there are fewer bytes than ranks.
    """
    n = len(ranks)
    if n & (n - 1):
        raise SpecError(
            what=f"halving-doubling: {n} ranks are no power of two", remedy="choose ring or tree"
        )
    _shares(size_bytes, n, 1, "halving-doubling")
    distance = [n >> turn for turn in range(1, n.bit_length())]
    ways = [*distance, *reversed(distance)]
    place = np.arange(n)
    source = np.tile(place, len(ways))
    target = np.concatenate([place ^ way for way in ways])
    sizes = np.repeat([size_bytes * way // n for way in ways], n)
    index = np.arange(n, len(source))
    before = np.repeat(ways[:-1], n)
    waited = index - n - source[n:] + (source[n:] ^ before)  # what the last partner sent me
    return Dag.of(ranks[source], ranks[target], sizes, waits=(index, waited))


def all_to_all(
    ranks: NDArray[np.int64], size_bytes: int, *, in_flight: int = 0, distances: int = 0
) -> Dag:
    """Return an exchange in which each rank sends 1/n of *size_bytes* to each other one.

    Rank i sends to i + 1 first, then to i + 2, and so on.

    Args:
        ranks: Who takes part.
        size_bytes: What one rank sends in all, its own share included.
        in_flight: Messages a rank has on their way at a time; 0 for all at once.
        distances: How many distances are sent, each the middle of equal spans and with the
            bytes of all in its span; 0, or as many as there are, for every one.

    Raises:
        SpecError: there are fewer bytes than ranks.
    """
    n = len(ranks)
    shares = _shares(size_bytes, n, 1, "all-to-all")[:, 0]
    count = min(distances or n - 1, n - 1)
    edges = np.arange(count + 1) * (n - 1) // count
    distance, times = 1 + (edges[:-1] + edges[1:] - 1) // 2, np.diff(edges)
    turn, rank = (axis.reshape(-1) for axis in np.indices((len(distance), n)))
    other = (rank + distance[turn]) % n
    index = np.arange(len(rank))
    waits = None
    if in_flight:
        held = index[turn >= in_flight]
        waits = (held, held - in_flight * n)
    return Dag.of(ranks[rank], ranks[other], shares[other] * times[turn], waits=waits)


def broadcast(ranks: NDArray[np.int64], size_bytes: int, *, slices: int = 8) -> Dag:
    """Return a chain along *ranks*, cut into slices that follow one another.

    Raises:
        SpecError: there are fewer bytes than slices.
    """
    pieces = _shares(size_bytes, 1, slices, "broadcast")[0]
    hop, piece = (axis.reshape(-1) for axis in np.indices((len(ranks) - 1, slices)))
    index = np.arange(len(hop))
    forwards, queued = hop > 0, piece >= IN_FLIGHT
    waiter = np.concatenate([index[forwards], index[queued]])
    waited = np.concatenate([index[forwards] - slices, index[queued] - IN_FLIGHT])
    return Dag.of(ranks[hop], ranks[hop + 1], pieces[piece], waits=(waiter, waited))


def gather(ranks: NDArray[np.int64], size_bytes: int) -> Dag:
    """Return an exchange in which each rank but the first sends it 1/n of *size_bytes*.

    Raises:
        SpecError: there are fewer bytes than ranks.
    """
    shares = _shares(size_bytes, len(ranks), 1, "gather")[1:, 0]
    return Dag.of(ranks[1:], np.repeat(ranks[:1], len(shares)), shares)


def scatter(ranks: NDArray[np.int64], size_bytes: int) -> Dag:
    """Return an exchange in which the first rank sends 1/n of *size_bytes* to each other one.

    Raises:
        SpecError: there are fewer bytes than ranks.
    """
    shares = _shares(size_bytes, len(ranks), 1, "scatter")[1:, 0]
    return Dag.of(np.repeat(ranks[:1], len(shares)), ranks[1:], shares)


def send_recv(source: NDArray[np.int64], target: NDArray[np.int64], size_bytes: int) -> Dag:
    """Return one message from each source to its target."""
    return Dag.of(source, target, size_bytes)


def _shares(size_bytes: int, parts: int, slices: int, what: str) -> NDArray[np.int64]:
    """Return *size_bytes* divided into parts and those into slices, to the byte."""
    count = parts * slices
    if size_bytes < count:
        raise SpecError(
            what=f"{what}: {size_bytes} bytes cannot be cut into {count} pieces",
            remedy="give a larger size, or fewer slices or channels",
        )
    bounds = np.arange(count + 1, dtype=object) * size_bytes // count  # exact beyond 64 bits
    return np.diff(bounds).astype(np.int64).reshape(parts, slices)
