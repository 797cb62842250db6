"""Static routes on a wiring (d-mod-k): which digit of a destination's number each switch looks at.

Zahavi, "Fat-tree routing and node ordering providing contention free traffic for MPI global
collectives", JPDC 72 (2012): destinations are numbered along the tree, a switch of tier l takes
the digit of weight w_1 ... w_(l-1), where w is the number of uplinks, and ports are counted round
all parents before a second cable to the same one. Down, parallel cables are told apart by what the
way up left over. The same rules as of :mod:`netloom.fabric.routing.dmodk`, for a graph of which
nothing is known but its links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.ports import most_ports
from netloom.fabric.wiring.tiers import tiers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Digits", "digits"]

_MAX_TIERS: Final = 8
_MAX: Final = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Digits:
    """What decides: of a set the link ``number // divisor[first link of the set]``, counted round.

    Attributes:
        number: Of each port of each endpoint, as many for all as the most that one has: its place
            along the tree.
        divisor: Of each link.
        links: The wiring's sets of next links, each in the order in which ports are counted.
    """

    number: NDArray[np.int64]
    divisor: NDArray[np.int64]
    links: NDArray[np.int32]


def digits(wiring: PacketTopology) -> Digits:
    """Return the digits by which static routes choose on *wiring*."""
    tier = tiers(wiring)
    tier = np.where(tier < 0, _MAX_TIERS, np.minimum(tier, _MAX_TIERS))
    return Digits(
        number=_numbers(wiring, tier), divisor=_divisors(wiring, tier), links=_ordered(wiring)
    )


def _divisors(wiring: PacketTopology, tier: NDArray[np.int64]) -> NDArray[np.int64]:
    source, target = wiring.link_source, wiring.link_target
    rises = tier[source] < tier[target]
    pair = np.unique(source[rises].astype(np.int64) * wiring.num_vertices + target[rises])
    most = []
    for each in (source[rises], pair // wiring.num_vertices):  # cables up, and switches
        widest = np.ones(_MAX_TIERS + 1, dtype=np.int64)
        np.maximum.at(widest, tier, np.bincount(each, minlength=wiring.num_vertices))
        most.append(widest)
    cables, parents = most
    weight = np.minimum(np.cumprod(np.concatenate([[1, 1], cables[1:_MAX_TIERS]])), _MAX)
    falls = tier[source] > tier[target]
    up, down = weight[tier[source]], weight[tier[target]] * parents[tier[target]]
    found = np.where(falls, down, up)
    found[(source < wiring.num_endpoints) | (target < wiring.num_endpoints)] = 1
    return np.asarray(np.minimum(found, _MAX), dtype=np.int64)


def _numbers(wiring: PacketTopology, tier: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the ports of endpoints along the tree: pod by pod, edge switch by edge switch."""
    most = most_ports(wiring)
    edge = _edges(wiring, most)
    endpoint = np.repeat(np.arange(wiring.num_endpoints), most)
    levels = range(1, int(tier.max(initial=1)))
    keys = [endpoint, edge, *(_together(wiring, tier <= level)[edge] for level in levels)]
    number = np.empty(len(endpoint), dtype=np.int64)
    number[np.lexsort(keys)] = np.arange(len(endpoint))
    return number


def _edges(wiring: PacketTopology, most: int) -> NDArray[np.int64]:
    """Return the switch, or the shared NIC, that each port of each endpoint hangs on."""
    outside = ~wiring.link_scale_up
    leads_on = np.zeros(wiring.num_vertices, dtype=np.bool_)
    leads_on[wiring.link_source[outside]] = True
    doors = (wiring.link_source < wiring.num_endpoints) & (
        outside | (leads_on[wiring.link_target] & (wiring.link_target >= wiring.num_endpoints))
    )
    links = np.flatnonzero(doors)
    links = links[np.argsort(wiring.link_source[links], kind="stable")]
    count = np.bincount(wiring.link_source[links], minlength=wiring.num_endpoints)
    first = np.cumsum(count) - count
    port = np.arange(most) % np.maximum(count, 1)[:, None] + first[:, None]
    known = np.append(wiring.link_target[links].astype(np.int64), 0)
    return np.where(count[:, None] > 0, known[np.minimum(port, len(links))], 0).reshape(-1)


def _together(wiring: PacketTopology, low: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each vertex the first switch that it reaches without leaving those *low*."""
    label = np.arange(wiring.num_vertices)
    inner = low & (label >= wiring.num_endpoints)
    within = inner[wiring.link_source] & inner[wiring.link_target]
    source, target = wiring.link_source[within], wiring.link_target[within]
    while True:
        joined = label.copy()
        np.minimum.at(joined, target, label[source])
        if (joined == label).all():
            return label
        label = joined


def _ordered(wiring: PacketTopology) -> NDArray[np.int32]:
    """Return every set of next links with first cables to all neighbours before second ones."""
    pair = wiring.link_source.astype(np.int64) * wiring.num_vertices + wiring.link_target
    order = np.argsort(pair, kind="stable")
    fresh = np.diff(pair[order], prepend=-1) != 0
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(pair)), 0))
    cable = np.empty(len(pair), dtype=np.int64)
    cable[order] = np.arange(len(pair)) - first
    number = np.repeat(np.arange(len(wiring.offsets) - 1), np.diff(wiring.offsets))
    links = wiring.links
    return links[np.lexsort((links, wiring.link_target[links], cable[links], number))]
