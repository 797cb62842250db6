"""One shortest way between endpoints of a wiring, and what it is like when nothing else moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring import Wiring

__all__ = ["Ways", "first_ways"]

MAX_HOPS: Final = 4096  # more than any shortest way has; beyond it routes go round in circles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ways:
    """Sums over the links of one way for each pair.

    Attributes:
        num_hops: Links on it.
        delay_ps: Propagation and forwarding together.
        ps_per_byte: Serialisation of a byte on every link, added up.
        slowest_bps: The lowest rate on it.
    """

    num_hops: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    ps_per_byte: NDArray[np.float64]
    slowest_bps: NDArray[np.float64]


def first_ways(wiring: Wiring, source: NDArray[np.int64], target: NDArray[np.int64]) -> Ways:
    """Return the way from each source to its target that takes the first of equal next links.

    Raises:
        InfeasibleError: two endpoints cannot reach each other; the message names them.
    """
    key, owner = np.unique(
        source.astype(np.int64) * wiring.num_vertices + target, return_inverse=True
    )
    begin, end = key // wiring.num_vertices, key % wiring.num_vertices
    walk = _Walk.at(begin)
    moving = np.arange(len(key))
    for _ in range(MAX_HOPS):
        if not len(moving):
            return walk.ways(owner.reshape(-1))
        link = _next(wiring, walk.at_vertex[moving], end[moving])
        if (link < 0).any():
            lost = moving[link < 0]
            raise _lost(wiring, begin[lost], end[lost])
        walk.take(wiring, moving, link)
        arrived = walk.at_vertex[moving] == end[moving]
        walk.delay_ps[moving] += np.where(arrived, 0, wiring.forward_ps[walk.at_vertex[moving]])
        moving = moving[~arrived]
    raise _lost(wiring, begin[moving], end[moving])


@dataclass(slots=True)
class _Walk:
    at_vertex: NDArray[np.int64]
    num_hops: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    ps_per_byte: NDArray[np.float64]
    slowest_bps: NDArray[np.float64]

    @classmethod
    def at(cls, begin: NDArray[np.int64]) -> _Walk:
        zero = np.zeros(len(begin), dtype=np.int64)
        return cls(
            begin.copy(), zero, zero.copy(), zero.astype(np.float64), np.full(len(zero), np.inf)
        )

    def take(self, wiring: Wiring, which: NDArray[np.int64], link: NDArray[np.int64]) -> None:
        self.num_hops[which] += 1
        self.delay_ps[which] += wiring.link_delay_ps[link]
        self.ps_per_byte[which] += 8e12 / wiring.link_rate_bps[link]
        self.slowest_bps[which] = np.minimum(self.slowest_bps[which], wiring.link_rate_bps[link])
        self.at_vertex[which] = wiring.link_target[link]

    def ways(self, owner: NDArray[np.int64]) -> Ways:
        return Ways(
            num_hops=self.num_hops[owner],
            delay_ps=self.delay_ps[owner],
            ps_per_byte=self.ps_per_byte[owner],
            slowest_bps=self.slowest_bps[owner],
        )


def _next(wiring: Wiring, at: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first next link; -1 where there is none. A direct link comes before all."""
    number = wiring.choices[at, wiring.goal[end]]
    count = wiring.offsets[number + 1] - wiring.offsets[number]
    if not len(wiring.links):
        return _direct(wiring, at, end)
    first = wiring.links[np.minimum(wiring.offsets[number], len(wiring.links) - 1)]
    link = np.where(count > 0, first, -1).astype(np.int64)
    direct = _direct(wiring, at, end)
    return np.where(direct >= 0, direct, link)


def _direct(wiring: Wiring, at: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    last = np.flatnonzero(wiring.link_target < wiring.num_endpoints)
    key = wiring.link_source[last].astype(np.int64) * wiring.num_vertices + wiring.link_target[last]
    order = np.argsort(key, kind="stable")
    wanted = at * wiring.num_vertices + end
    place = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
    if not len(key):
        return np.full(len(at), -1, dtype=np.int64)
    return np.where(key[order][place] == wanted, last[order][place], -1)


def _lost(wiring: Wiring, source: NDArray[np.int64], target: NDArray[np.int64]) -> InfeasibleError:
    pair = f"{wiring.name[source[0]]} to {wiring.name[target[0]]}"
    more = f" (and {len(source) - 1:,} more pairs)" if len(source) > 1 else ""
    return InfeasibleError(
        f"{pair}{more}: no way; restore a link or switch between them, choose a topology that "
        "joins all rails, or take these endpoints out of the traffic"
    )
