"""One shortest way between endpoints of a wiring, and what it is like when nothing else moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = [
    "Doors",
    "PairPaths",
    "first_ways",
    "longest_ways",
    "num_hops",
    "stay_inside",
    "undivided",
]

MAX_HOPS: Final = 4096  # more than any shortest way has; beyond it routes go round in circles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairPaths:
    """One way for each pair.

    Attributes:
        links: The links of each, in the order they are crossed, a row a pair; -1 behind the last.
        num_hops: How many.
        delay_ps: Propagation and forwarding together.
        ps_per_byte: Serialisation of a byte on every link, added up.
        slowest_bps: The lowest rate on it.
    """

    links: NDArray[np.int64]
    num_hops: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    ps_per_byte: NDArray[np.float64]
    slowest_bps: NDArray[np.float64]


def first_ways(
    wiring: PacketTopology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> PairPaths:
    """Return the way from each source to its target that takes the first of equal next links.

    Raises:
        InfeasibleError: two endpoints cannot reach each other; the message names them.
    """
    key = source.astype(np.int64) * wiring.num_vertices + target
    pair, owner = np.unique(key, return_inverse=True)
    links = _walk(wiring, pair // wiring.num_vertices, pair % wiring.num_vertices)
    there = links >= 0
    forward_ps = wiring.forward_ps[wiring.link_source[links]]
    forward_ps[:, :1] = 0  # the sender forwards nothing
    rate_bps = wiring.link_rate_bps[links]
    delay_ps = np.where(there, wiring.link_delay_ps[links] + forward_ps, 0)
    owner = owner.reshape(-1)
    return PairPaths(
        links=links[owner],
        num_hops=there.sum(axis=1)[owner],
        delay_ps=delay_ps.sum(axis=1)[owner],
        ps_per_byte=np.where(there, 8e12 / rate_bps, 0.0).sum(axis=1)[owner],
        slowest_bps=np.where(there, rate_bps, np.inf).min(axis=1, initial=np.inf)[owner],
    )


def longest_ways(
    wiring: PacketTopology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> PairPaths:
    """Return the way from each source to its target that takes the longest of equal next links.

    Raises:
        InfeasibleError: two endpoints cannot reach each other; the message names them.
    """
    owner = np.repeat(np.arange(len(wiring.offsets) - 1), np.diff(wiring.offsets))
    order = np.lexsort((-wiring.link_delay_ps[wiring.links], owner))
    return first_ways(replace(wiring, links=wiring.links[order]), source, target)


def num_hops(
    wiring: PacketTopology, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many links it is from any vertex to an endpoint; 2**30 where there is no way."""
    doors = Doors.of(wiring)
    found = np.full(len(begin), 1 << 30, dtype=np.int64)
    moving = np.flatnonzero(doors.next(begin, end) >= 0)
    links = _walk(wiring, begin[moving], end[moving])
    found[moving] = (links >= 0).sum(axis=1) if links.size else 0
    return found


def undivided(
    wiring: PacketTopology, ways: PairPaths, target: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what the links of each way carry at least of all that goes to *target* by any way.

    All of it up to the first vertex that has a choice, there the link's share of the rates to
    choose from, and behind it perhaps nothing.
    """
    there = ways.links >= 0
    number = wiring.choices[wiring.link_source[ways.links], wiring.goal[target][:, None]]
    begin, end = wiring.offsets[number], wiring.offsets[number + 1]
    rate_bps = wiring.link_rate_bps
    up_to_bps = np.concatenate([[0.0], np.cumsum(rate_bps[wiring.links])])
    all_bps = up_to_bps[end] - up_to_bps[begin]
    several = there & (end - begin > 1)
    share = np.where(several, rate_bps[ways.links] / np.where(several, all_bps, 1.0), 1.0)
    behind = np.cumsum(several, axis=1) > several
    return np.asarray(np.where(there & ~behind, share, 0.0))


def stay_inside(
    wiring: PacketTopology, source: NDArray[np.int32], target: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return for each pair whether its way takes scale-up links alone.

    Raises:
        InfeasibleError: two endpoints cannot reach each other; the message names them.
    """
    ways = first_ways(wiring, source.astype(np.int64), target.astype(np.int64))
    inside = (wiring.link_scale_up[ways.links] | (ways.links < 0)).all(axis=1)
    return np.asarray(inside, dtype=np.bool_)


def _walk(
    wiring: PacketTopology, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    doors = Doors.of(wiring)
    at = begin.copy()
    moving = np.arange(len(begin))
    columns: list[NDArray[np.int64]] = []
    while len(moving):
        link = doors.next(at[moving], end[moving])
        if (link < 0).any() or len(columns) > MAX_HOPS:
            lost = moving[link < 0] if (link < 0).any() else moving
            raise _lost(wiring, begin[lost], end[lost])
        column = np.full(len(begin), -1, dtype=np.int64)
        column[moving] = link
        columns.append(column)
        at[moving] = wiring.link_target[link]
        moving = moving[at[moving] != end[moving]]
    return np.stack(columns, axis=1) if columns else np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Doors:
    """The last links to endpoints, ready to be looked up."""

    wiring: PacketTopology
    key: NDArray[np.int64]
    link: NDArray[np.int64]

    @classmethod
    def of(cls, wiring: PacketTopology) -> Doors:
        """Return those of *wiring*."""
        last = np.flatnonzero(wiring.link_target < wiring.num_endpoints)
        source = wiring.link_source[last].astype(np.int64)
        key = source * wiring.num_vertices + wiring.link_target[last]
        order = np.argsort(key, kind="stable")
        return cls(wiring, key[order], last[order])

    def next(self, at: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first next link; -1 where there is none. A direct link comes before all."""
        wiring = self.wiring
        number = wiring.choices[at, wiring.goal[end]]
        begin = wiring.offsets[number]
        known = wiring.offsets[number + 1] > begin
        link = np.full(len(at), -1, dtype=np.int64)
        link[known] = wiring.links[begin[known]]
        wanted = at * wiring.num_vertices + end
        place = np.searchsorted(self.key, wanted)
        place[place == len(self.key)] = 0
        direct = self.key[place] == wanted if len(self.key) else np.zeros(len(at), dtype=np.bool_)
        link[direct] = self.link[place[direct]]
        return link


def _lost(
    wiring: PacketTopology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> InfeasibleError:
    pair = f"{wiring.name[source[0]]} to {wiring.name[target[0]]}"
    more = f" (and {len(source) - 1:,} more pairs)" if len(source) > 1 else ""
    return InfeasibleError(
        f"{pair}{more}: no way; restore a link or switch between them, choose a topology that "
        "joins all rails, or take these endpoints out of the traffic"
    )
