"""Minimal routing on any graph: every link that brings the goal one hop nearer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.routing.ragged import Csr, blocks, csr, spans
from netloom.fabric.routing.router import filtered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.adjacency import Adjacency
    from netloom.fabric.routing.router import Fan, Steps

__all__ = ["Minimal", "between_switches", "inside_nodes"]

TABLE = 1 << 25  # distances held at a time: 64 MiB


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Minimal:
    """Finds shortest ways by a breadth-first search from each goal that is asked for.

    The graph may fall into regions that no link joins (the nodes of a cluster); a goal is
    then reached from its own region only.

    Attributes:
        source: The vertex that each link of the fabric leaves.
        target: The vertex that each link of the fabric enters.
        out: The links that may be used, by the vertex they leave.
        into: The same by the vertex they enter.
        region: The region of each vertex; -1 outside this part of the fabric.
        place: The number of each vertex within its region.
        width: Vertices in the largest region.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    out: Csr
    into: Csr
    region: NDArray[np.int32]
    place: NDArray[np.int32]
    width: int

    def cost(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many links away each goal is; -1 where it cannot be reached."""
        hops = np.full(len(at), -1, dtype=np.int64)
        for goals, steps in self._tables(goal):
            mine = (goal >= goals[0]) & (goal <= goals[-1])
            mine &= (self.region[at] == self.region[goal]) & (self.region[at] >= 0)
            hops[mine] = steps.distance(at[mine], goal[mine])
        return hops

    def toward(self, goals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Steps]]:
        """Yield the goals in batches, each with its table of distances."""
        yield from self._tables(goals)

    def _tables(self, goals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], _Table]]:
        asked = np.unique(goals)
        size = max(1, TABLE // max(self.width, 1))
        for begin in range(0, len(asked), size):
            batch = asked[begin : begin + size]
            yield batch, _Table(graph=self, goals=batch, hops=self._search(batch))

    def _search(self, goals: NDArray[np.int64]) -> NDArray[np.int16]:
        hops = np.full((len(goals), self.width), -1, dtype=np.int16)
        flat = hops.reshape(-1)
        row, vertex = np.arange(len(goals)), goals
        flat[row * self.width + self.place[vertex]] = 0
        away = 0
        while len(row):
            away += 1
            row, vertex = self._wave(flat, row, vertex, away)
        return hops

    def _wave(
        self,
        flat: NDArray[np.int16],
        row: NDArray[np.int64],
        vertex: NDArray[np.int64],
        away: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, vertices = [row[:0]], [vertex[:0]]
        count = self.into.count(vertex)
        for block in blocks(count):
            owner, position = spans(self.into.start(vertex[block]), count[block])
            came = self.source[self.into.links[position]].astype(np.int64)
            slot = row[block][owner] * self.width + self.place[came]
            fresh = flat[slot] < 0
            slot, first = np.unique(slot[fresh], return_index=True)
            flat[slot] = away
            rows.append(slot // self.width)
            vertices.append(came[fresh][first])
        return np.concatenate(rows), np.concatenate(vertices)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    """Distances to some goals.

    Attributes:
        goals: Sorted, each once.
        hops: ``hops[i, place]``: links from a vertex of the region of goal i; -1 for never.
    """

    graph: Minimal
    goals: NDArray[np.int64]
    hops: NDArray[np.int16]

    def distance(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> NDArray[np.int16]:
        return self.hops[np.searchsorted(self.goals, goal), self.graph.place[at]]

    def fans(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> Iterator[Fan]:
        nearer = self.distance(at, goal) - 1
        target = self.graph.target
        yield from filtered(
            self.graph.out,
            at,
            np.arange(len(at)),
            lambda query, link: (
                self.distance(target[link].astype(np.int64), goal[query]) == nearer[query]
            ),
        )


def between_switches(fabric: Fabric, near: Adjacency) -> Minimal:
    """Return minimal routing over all switches of *fabric*, whatever their tiers."""
    links = np.sort(np.concatenate([near.up.links, near.down.links, near.side.links]))
    region = np.where(fabric.vertex_kind == VertexKind.SWITCH, 0, -1).astype(np.int32)
    return _minimal(fabric, links, region)


def inside_nodes(fabric: Fabric, near: Adjacency) -> Minimal:
    """Return minimal routing over the scale-up networks of *fabric*, each node a region."""
    compute = np.isin(fabric.vertex_kind, (VertexKind.GPU, VertexKind.SCALE_UP))
    region = np.where(compute, fabric.vertex_node, -1).astype(np.int32)
    return _minimal(fabric, np.sort(near.inside.links), region)


def _minimal(fabric: Fabric, links: NDArray[np.int32], region: NDArray[np.int32]) -> Minimal:
    inside = np.flatnonzero(region >= 0)
    count = np.bincount(region[inside]) if len(inside) else np.zeros(0, dtype=np.int64)
    order = inside[np.argsort(region[inside], kind="stable")]
    _, place_in_order = spans(np.zeros(len(count), dtype=np.int64), count)
    place = np.zeros(fabric.num_vertices, dtype=np.int32)
    place[order] = place_in_order
    num_rows = fabric.num_vertices
    return Minimal(
        source=fabric.link_source,
        target=fabric.link_target,
        out=csr(fabric.link_source[links], links, num_rows=num_rows),
        into=csr(fabric.link_target[links], links, num_rows=num_rows),
        region=region,
        place=place,
        width=int(count.max(initial=0)),
    )
