"""The load of flows that are split over all their equal-cost links.

An even split is what ideal packet spraying does, what adaptive routing tends to under even load,
and what ECMP gives on average over its seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.routing.doors import ends
from netloom.fabric.routing.flows import check_flows
from netloom.fabric.routing.health import health
from netloom.fabric.routing.ragged import blocks, spans
from netloom.fabric.routing.trace import stays_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.routing.health import Health
    from netloom.fabric.routing.router import Fan, Router

    Demand = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

__all__ = ["load_bps"]

CELLS_PER_ENTRY: Final = 4  # up to which counting is quicker than sorting (measured)
MAX_APART: Final = 1 << 22  # entries kept before they are added up: 100 MiB


def load_bps(
    known: RoutingTables,
    flows: Flows,
    rate_bps: NDArray[np.float64],
    *,
    pxn: bool = False,
    leaning: bool = False,
) -> NDArray[np.float64]:
    """Return what each link carries when every vertex splits evenly over its candidates.

    Flows are split first over their equally short pairs of NIC ports (the planes), then at
    each switch over the next links. Links are not limited to their rate.

    Args:
        known: Tables of the fabric.
        flows: What to route; ports are ignored.
        rate_bps: What each flow sends.
        pxn: As for :func:`netloom.fabric.routing.ecmp.paths`.
        leaning: Split at switches by what is left of each link and of the ways behind it
            (:mod:`netloom.fabric.routing.health`) instead; the same on a whole fabric.

    Raises:
        SpecError: A flow does not join two different GPUs of the fabric.
        InfeasibleError: Two GPUs have no path left.
    """
    check_flows(known.fabric, flows)
    load = np.zeros(known.fabric.num_links)
    inside = stays_inside(known, flows)
    where = np.flatnonzero(inside)
    _split(known, known.inside, (flows.source[where], flows.target[where], rate_bps[where]), load)
    _outside(known, flows, rate_bps, load, which=np.flatnonzero(~inside), options=(pxn, leaning))
    return load


def _outside(
    known: RoutingTables,
    flows: Flows,
    rate_bps: NDArray[np.float64],
    load: NDArray[np.float64],
    *,
    which: NDArray[np.int64],
    options: tuple[bool, bool],
) -> None:
    pxn, leaning = options
    pairs = ends(known, flows, which, pxn=pxn)
    amount = (rate_bps / np.maximum(np.bincount(pairs.flow, minlength=len(flows)), 1))[pairs.flow]
    near = known.near
    sender = known.fabric.link_source[pairs.out].astype(np.int64)
    _split(known, known.inside, (flows.source[pairs.flow], sender, amount), load)
    for link in (
        pairs.out,
        near.edge_link[pairs.source_port],
        near.edge_link[pairs.target_port] ^ 1,
        pairs.back,
    ):
        np.add.at(load, link, amount)
    here = near.edge[pairs.source_port].astype(np.int64)
    there = near.edge[pairs.target_port].astype(np.int64)
    left = health(known, np.unique(there)) if leaning else None
    _split(known, known.between, (here, there, amount), load, left)


def _split(
    known: RoutingTables,
    router: Router,
    demand: Demand,
    load: NDArray[np.float64],
    left: Health | None = None,
) -> None:
    """Add to *load* what *demand* (from, to, amount) puts on each link on the way."""
    at, goal, amount = demand
    for goals, steps in router.toward(goal[at != goal]):
        mine = (at != goal) & (goal >= goals[0]) & (goal <= goals[-1])
        here, there, much = _merged(known, at[mine], goal[mine], amount[mine])
        while len(here):
            parts: list[Demand] = []
            for fan in steps.fans(here, there):
                for part in _expanded(known, fan, (there, much), load, left):
                    parts.append(part)
                    parts = parts if _few(parts) else [_joined(known, parts)]
            here, there, much = _joined(known, parts)


def _few(parts: list[Demand]) -> bool:
    return sum(len(at) for at, _, _ in parts) <= MAX_APART


def _joined(known: RoutingTables, parts: list[Demand]) -> Demand:
    at, goal, amount = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _merged(known, at, goal, amount)


def _expanded(
    known: RoutingTables,
    fan: Fan,
    standing: tuple[NDArray[np.int64], NDArray[np.float64]],
    load: NDArray[np.float64],
    left: Health | None,
) -> list[Demand]:
    parts = []
    goal = standing[0][fan.where]
    share = standing[1][fan.where] / fan.count
    for block in blocks(fan.count):
        owner, position = spans(fan.start[block], fan.count[block])
        links = fan.links[position]
        there = goal[block][owner]
        part = share[block][owner]
        if left is not None:
            part *= _evened(left.weight(links, there), owner)
        np.add.at(load, links, part)
        parts.append(_merged(known, known.fabric.link_target[links].astype(np.int64), there, part))
    return parts


def _evened(weight: NDArray[np.float64], owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each weight over the mean of its owner's."""
    return weight * (np.bincount(owner) / np.bincount(owner, weight))[owner]


def _merged(
    known: RoutingTables,
    at: NDArray[np.int64],
    goal: NDArray[np.int64],
    amount: NDArray[np.float64],
) -> Demand:
    """Add up what stands at one vertex for one goal; drop what has arrived.

    Pairs come out in order. Where many entries meet on few pairs, counting saves sorting them;
    either way adds in the order given.
    """
    onward = at != goal
    if not onward.all():
        at, goal, amount = at[onward], goal[onward], amount[onward]
    if not len(at):
        return at, goal, amount
    first, low = int(at.min()), int(goal.min())
    width = int(goal.max()) - low + 1
    if (int(at.max()) - first + 1) * width > CELLS_PER_ENTRY * len(at):
        key, number = np.unique(at * known.fabric.num_vertices + goal, return_inverse=True)
        total = np.bincount(number, amount).astype(np.float64, copy=False)
        return key // known.fabric.num_vertices, key % known.fabric.num_vertices, total
    cells = (at - first) * width + (goal - low)
    total = np.bincount(cells, amount).astype(np.float64, copy=False)
    found = np.flatnonzero(total).astype(np.int64, copy=False)
    return found // width + first, found % width + low, total[found]
