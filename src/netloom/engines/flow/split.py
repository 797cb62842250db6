"""Flows split evenly over all their equal ways through a fabric.

Ideal spraying does this, and adaptive routing tends to it under even load. The split is even at
each switch: a switch does not see that one of its ways is thinner farther on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines import native
from netloom.engines.flow.ways import expanded, joined, merged
from netloom.fabric.routing.doors import ends
from netloom.fabric.routing.flows import check_flows
from netloom.fabric.routing.ragged import spans
from netloom.fabric.routing.trace import stays_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.ways import Entries, FlowPaths, Pieces
    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.routing.router import Router, Steps

__all__ = ["split_ways"]


def split_ways(
    known: RoutingTables, flows: Flows, *, kind: NDArray[np.uint32], pxn: bool
) -> FlowPaths:
    """Return each flow's links and shares; links of one *kind* may be taken for each other.

    Raises:
        SpecError: A flow does not join two different GPUs of the fabric.
        InfeasibleError: Two GPUs have no path left, or the ways do not fit in memory.
    """
    check_flows(known.fabric, flows)
    inside = stays_inside(known, flows)
    within = np.flatnonzero(inside)
    between = (flows.source[within], flows.target[within])
    pieces = [_inside(known, between, within, np.ones(len(within)))]
    outside, group = _outside(known, flows, np.flatnonzero(~inside), kind=kind, pxn=pxn)
    return joined(pieces + outside, len(flows), group=group)


def _outside(
    known: RoutingTables,
    flows: Flows,
    which: NDArray[np.int64],
    *,
    kind: NDArray[np.uint32],
    pxn: bool,
) -> tuple[list[Entries], NDArray[np.uint32]]:
    pairs = ends(known, flows, which, pxn=pxn)
    near = known.near
    share = 1 / np.bincount(pairs.flow, minlength=len(flows))[pairs.flow]
    sender = known.fabric.link_source[pairs.out].astype(np.int64)
    here = near.edge[pairs.source_port].astype(np.int64)
    there = near.edge[pairs.target_port].astype(np.int64)
    segments = _Segments.of(known, known.between, (here, there)).grouped(kind)

    def plain(link: NDArray[np.int32]) -> Entries:
        return pairs.flow, link.astype(np.int64), share, None

    return [
        _inside(known, (flows.source[pairs.flow], sender), pairs.flow, share),
        plain(pairs.out),
        plain(near.edge_link[pairs.source_port]),
        segments.of_flows(pairs.flow, share),
        plain(near.edge_link[pairs.target_port] ^ 1),
        plain(pairs.back),
    ], segments.group


def _inside(
    known: RoutingTables,
    between: tuple[NDArray[np.int64], NDArray[np.int64]],
    flow: NDArray[np.int64],
    share: NDArray[np.float64],
) -> Entries:
    return _Segments.of(known, known.inside, between).of_flows(flow, share)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Segments:
    """Ways from one vertex to another, each pair of vertices worked out once.

    Attributes:
        number: The pair of each query.
        pieces: Pair, link and share, in order of the pairs.
        group: Of each link the first of its group.
    """

    number: NDArray[np.int64]
    pieces: Pieces
    group: NDArray[np.uint32]

    @classmethod
    def of(
        cls,
        known: RoutingTables,
        router: Router,
        between: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> _Segments:
        """Return the ways between pairs of vertices, no links grouped yet."""
        num_vertices = known.fabric.num_vertices
        at, goal = between
        key, number = np.unique(at * num_vertices + goal, return_inverse=True)
        owner, link, part = _pairs(known, router, key // num_vertices, key % num_vertices)
        order = np.argsort(owner, kind="stable")
        return cls(
            number=number.reshape(-1),
            pieces=(owner[order], link[order], part[order]),
            group=np.arange(known.fabric.num_links, dtype=np.uint32),
        )

    def grouped(self, kind: NDArray[np.uint32]) -> _Segments:
        """Return them with the first link of each group alone."""
        way, link, share = self.pieces
        offsets = np.searchsorted(way, np.arange(int(way.max(initial=-1)) + 2))
        group = native.group_links(
            {
                "offsets": offsets.astype(np.uint64),
                "links": link.astype(np.uint32),
                "shares": share,
                "kind": kind,
            }
        )
        first = group[link] == link
        return replace(self, pieces=(way[first], link[first], share[first]), group=group)

    def of_flows(self, flow: NDArray[np.int64], share: NDArray[np.float64]) -> Entries:
        """Return what flows with these shares put on the links of their pairs."""
        owner, link, part = self.pieces
        count = np.bincount(owner, minlength=int(self.number.max(initial=-1)) + 1)
        start = np.cumsum(count) - count
        which, position = spans(start[self.number], count[self.number])
        times = np.bincount(self.group, minlength=len(self.group)).astype(np.uint32)[link]
        return flow[which], link[position], share[which] * part[position], times[position]


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
