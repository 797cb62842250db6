"""The way of every connection where switches hash five-tuples, as the packet engine does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.routing.murmur import five_tuple_hash
from netloom.fabric.wiring.paths import MAX_HOPS, Doors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["hashed_ways"]


def hashed_ways(
    wiring: PacketTopology,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    source_port: NDArray[np.uint16],
    *,
    seeds_equal: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of a connection and a link of it, connection by connection, hop by hop.

    Args:
        wiring: The network; endpoints have one port each.
        source: Endpoint that sends, of each connection.
        target: Endpoint that receives.
        source_port: What switches hash beside the two.
        seeds_equal: Whether all switches hash alike.
    """
    doors = Doors.of(wiring)
    moving, at = np.arange(len(source)), source.astype(np.int64)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for _ in range(MAX_HOPS):
        if not len(moving):
            break
        link = doors.next(at, target[moving])  # the only one, or the last
        number = wiring.choices[at, wiring.goal[target[moving]]]
        begin, count = wiring.offsets[number], wiring.offsets[number + 1] - wiring.offsets[number]
        chooses = np.flatnonzero((count > 1) & (wiring.link_target[link] != target[moving]))
        which = moving[chooses]
        seed = np.zeros_like(at[chooses]) if seeds_equal else at[chooses]
        value = five_tuple_hash(source[which], target[which], source_port[which], seed=seed)
        link[chooses] = wiring.links[begin[chooses] + value.astype(np.int64) % count[chooses]]
        found.append((moving, link))
        at = wiring.link_target[link].astype(np.int64)
        going = at != target[moving]
        moving, at = moving[going], at[going]
    owner, links = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    return owner[order], links[order]
