"""Up*/down* routing on a fabric whose switches stand in tiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.routing.leafsets import LeafSets
from netloom.fabric.routing.router import Fan, filtered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.adjacency import Adjacency
    from netloom.fabric.routing.ragged import Csr
    from netloom.fabric.routing.router import Steps

__all__ = ["UpDown", "up_down"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UpDown:
    """Goes up as little as possible, then down; never up again.

    A switch that has the goal below it sends down; any other sends up, over every link from
    which the fewest further ups lead to a switch that has the goal below it.

    Attributes:
        target: The vertex that each link of the fabric enters.
        up: Up-links of each switch.
        down: Down-links of each switch, in order of (target, link id).
        down_key: ``source * num_vertices + target`` of each of them, ascending.
        leaf: For each vertex its number among the edge switches; -1 for all others.
        within: ``within[j, v]`` is the set of edge switches that v reaches with at most j ups.
        num_leaves: Edge switches in all; the set of number i below that is ``{i}``.
        members: The bits of each other set, a row each.
        alike: Whether all up-links of a vertex lead to switches that reach the same.
    """

    target: NDArray[np.int32]
    up: Csr
    down: Csr
    down_key: NDArray[np.int64]
    leaf: NDArray[np.int32]
    within: NDArray[np.int32]
    num_leaves: int
    members: NDArray[np.uint8]
    alike: NDArray[np.bool_]

    @property
    def levels(self) -> int:
        """Tiers of switches: one more than the ups any path needs."""
        return len(self.within)

    def cost(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many ups each query needs; -1 where no up*/down* path is left."""
        leaf = self.leaf[goal]
        ups = np.full(len(at), -1, dtype=np.int64)
        for level in reversed(range(len(self.within))):
            ups[self._has(self.within[level, at], leaf)] = level
        return ups

    def toward(self, goals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Steps]]:
        """Yield all goals at once: the tables serve any goal."""
        if len(goals):
            yield np.unique(goals), self

    def fans(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> Iterator[Fan]:
        """Yield the next links: see :class:`~netloom.fabric.routing.router.Steps`."""
        ups = self.cost(at, goal)
        assert (ups >= 0).all(), "goals are checked before the walk"
        yield from self._downs(at, goal, np.flatnonzero(ups == 0))
        whole = (ups > 0) & self.alike[at]
        where = np.flatnonzero(whole)
        yield Fan(
            where=where,
            start=self.up.start(at[where]),
            count=self.up.count(at[where]),
            links=self.up.links,
            whole=True,
        )
        where = np.flatnonzero((ups > 0) & ~whole)
        leaf, level = self.leaf[goal[where]], ups[where] - 1
        yield from filtered(
            self.up,
            at[where],
            where,
            lambda query, link: self._has(
                self.within[level[query], self.target[link]], leaf[query]
            ),
        )

    def _downs(
        self, at: NDArray[np.int64], goal: NDArray[np.int64], where: NDArray[np.int64]
    ) -> Iterator[Fan]:
        key = at[where] * len(self.leaf) + goal[where]
        start = np.searchsorted(self.down_key, key, side="left")
        count = np.searchsorted(self.down_key, key, side="right") - start
        last = count > 0
        yield Fan(where=where[last], start=start[last], count=count[last], links=self.down.links)
        where = where[~last]
        leaf = self.leaf[goal[where]]
        yield from filtered(
            self.down,
            at[where],
            where,
            lambda query, link: self._has(self.within[0, self.target[link]], leaf[query]),
        )

    def _has(self, which: NDArray[np.int32], leaf: NDArray[np.int32]) -> NDArray[np.bool_]:
        row = np.maximum(which - self.num_leaves, 0)
        bit = (self.members[row, leaf >> 3] >> (leaf & 7).astype(np.uint8)) & np.uint8(1)
        return np.asarray(np.where(which < self.num_leaves, which == leaf, bit == 1))


def up_down(fabric: Fabric, near: Adjacency) -> UpDown:
    """Return the up*/down* routing of *fabric*, whose usable links are *near*.

    Work and memory grow with the links, and with the square of the edge switches only where
    failures make many switches reach different sets of them.
    """
    edges = np.unique(near.edge[near.edge >= 0])
    leaf = np.full(fabric.num_vertices, -1, dtype=np.int32)
    leaf[edges] = np.arange(len(edges), dtype=np.int32)
    sets = LeafSets(len(edges))
    within = _within(fabric, near, leaf, sets)
    down_source = fabric.link_source[near.down.links].astype(np.int64)
    return UpDown(
        target=fabric.link_target,
        up=near.up,
        down=near.down,
        down_key=down_source * fabric.num_vertices + fabric.link_target[near.down.links],
        num_leaves=len(edges),
        leaf=leaf,
        within=within,
        members=sets.table(),
        alike=_alike(fabric, near.up, within),
    )


def _within(
    fabric: Fabric, near: Adjacency, leaf: NDArray[np.int32], sets: LeafSets
) -> NDArray[np.int32]:
    num_tiers = int(fabric.vertex_tier.max(initial=0))
    levels = [_below(fabric, near, leaf, sets)]
    for _ in range(1, max(num_tiers, 1)):
        level = levels[-1].copy()
        _join(fabric, near.up.links, level, sets)
        levels.append(level)
    return np.stack(levels)


def _below(
    fabric: Fabric, near: Adjacency, leaf: NDArray[np.int32], sets: LeafSets
) -> NDArray[np.int32]:
    below = np.where(leaf >= 0, leaf, sets.empty).astype(np.int32)
    tier = fabric.vertex_tier[fabric.link_source[near.down.links]]
    for number in range(2, int(fabric.vertex_tier.max(initial=0)) + 1):
        _join(fabric, near.down.links[tier == number], below, sets)
    return below


def _join(
    fabric: Fabric, links: NDArray[np.int32], reached: NDArray[np.int32], sets: LeafSets
) -> None:
    """Add to what each source of *links* reaches what their targets reached before the call."""
    if not len(links):
        return
    source, target = fabric.link_source[links], fabric.link_target[links]
    owner = np.concatenate([source, np.unique(source)]).astype(np.int64)
    part = np.concatenate([reached[target], reached[np.unique(source)]]).astype(np.int64)
    pairs = np.unique((owner << 32) | part)
    owner, part = pairs >> 32, pairs & 0xFFFFFFFF
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    for begin, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        reached[owner[begin]] = sets.union(part[begin:end])


def _alike(fabric: Fabric, up: Csr, within: NDArray[np.int32]) -> NDArray[np.bool_]:
    owner = fabric.link_source[up.links]
    reached = within[:, fabric.link_target[up.links]]
    first = within[:, fabric.link_target[up.links[up.offsets[owner]]]] if len(owner) else reached
    odd = owner[(reached != first).any(axis=0)]
    alike = np.ones(fabric.num_vertices, dtype=np.bool_)
    alike[odd] = False
    return alike
