"""Flows split evenly over all their equal ways through a fabric.

Ideal spraying does this, and adaptive routing tends to it under even load. The split is even at
each switch: a switch does not see that one of its ways is thinner farther on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.ways import expanded, joined, merged
from netloom.fabric.routing.doors import ends
from netloom.fabric.routing.flows import check_flows
from netloom.fabric.routing.ragged import spans
from netloom.fabric.routing.trace import stays_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.ways import FlowPaths, Pieces
    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.routing.router import Router, Steps

__all__ = ["split_ways"]


def split_ways(known: RoutingTables, flows: Flows, *, pxn: bool) -> FlowPaths:
    """Return each flow's links and shares.

    Raises:
        SpecError: A flow does not join two different GPUs of the fabric.
        InfeasibleError: Two GPUs have no path left, or the ways do not fit in memory.
    """
    check_flows(known.fabric, flows)
    inside = stays_inside(known, flows)
    within = np.flatnonzero(inside)
    ends_within = (flows.source[within], flows.target[within])
    pieces = [_segments(known, known.inside, ends_within, within, np.ones(len(within)))]
    pieces += _outside(known, flows, np.flatnonzero(~inside), pxn=pxn)
    return joined(pieces, len(flows))


def _outside(
    known: RoutingTables, flows: Flows, which: NDArray[np.int64], *, pxn: bool
) -> list[Pieces]:
    pairs = ends(known, flows, which, pxn=pxn)
    near = known.near
    share = 1 / np.bincount(pairs.flow, minlength=len(flows))[pairs.flow]
    sender = known.fabric.link_source[pairs.out].astype(np.int64)
    here = near.edge[pairs.source_port].astype(np.int64)
    there = near.edge[pairs.target_port].astype(np.int64)

    def plain(link: NDArray[np.int32]) -> Pieces:
        return pairs.flow, link.astype(np.int64), share

    return [
        _segments(known, known.inside, (flows.source[pairs.flow], sender), pairs.flow, share),
        plain(pairs.out),
        plain(near.edge_link[pairs.source_port]),
        _segments(known, known.between, (here, there), pairs.flow, share),
        plain(near.edge_link[pairs.target_port] ^ 1),
        plain(pairs.back),
    ]


def _segments(
    known: RoutingTables,
    router: Router,
    between: tuple[NDArray[np.int64], NDArray[np.int64]],
    flow: NDArray[np.int64],
    share: NDArray[np.float64],
) -> Pieces:
    """Split each flow from one vertex to another; pairs of vertices are worked out once."""
    num_vertices = known.fabric.num_vertices
    at, goal = between
    key, number = np.unique(at * num_vertices + goal, return_inverse=True)
    owner, link, part = _pairs(known, router, key // num_vertices, key % num_vertices)
    count = np.bincount(owner, minlength=len(key))
    order = np.argsort(owner, kind="stable")
    start = np.cumsum(count) - count
    which, position = spans(start[number], count[number])
    return flow[which], link[order][position], share[which] * part[order][position]


def _pairs(
    known: RoutingTables, router: Router, at: NDArray[np.int64], goal: NDArray[np.int64]
) -> Pieces:
    """Return the pieces of each pair of vertices, numbered as given."""
    none = np.empty(0, np.int64)
    found: list[Pieces] = [(none, none, np.empty(0))]
    for goals, steps in router.toward(goal[at != goal]):
        mine = np.flatnonzero((at != goal) & (goal >= goals[0]) & (goal <= goals[-1]))
        found += _walk(known, steps, (mine, at[mine]), goal)
    owner, link, share = (np.concatenate(column) for column in zip(*found, strict=True))
    return owner, link, share


def _walk(
    known: RoutingTables,
    steps: Steps,
    standing: tuple[NDArray[np.int64], NDArray[np.int64]],
    goal: NDArray[np.int64],
) -> list[Pieces]:
    owner, at = standing
    share = np.ones(len(owner))
    target = known.fabric.link_target.astype(np.int64)
    found: list[Pieces] = []
    while len(owner):
        step = [
            expanded(owner[fan.where], share[fan.where], (fan.start, fan.count, fan.links))
            for fan in steps.fans(at, goal[owner])
        ]
        found += step
        moved = tuple(np.concatenate(column) for column in zip(*step, strict=True))
        owner, at, share = merged(
            (moved[0], target[moved[1]], moved[2]), num_vertices=known.fabric.num_vertices
        )
        onward = at != goal[owner]
        owner, at, share = owner[onward], at[onward], share[onward]
    return found
