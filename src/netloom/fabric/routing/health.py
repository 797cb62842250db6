"""How much of its ways to a goal a switch has left, against the fabric as built.

A switch that lost half of its up-links has half of its ways left to whatever lies above; who
sends to it does well to send it half of what others get. That is how weights follow capacity in
Zhou et al., WCMP (EuroSys 2014), and where adaptive routing under full load ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.routing.adjacency import adjacency
from netloom.fabric.routing.ragged import spans
from netloom.fabric.routing.updown import UpDown, up_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.candidates import RoutingTables

__all__ = ["Health", "changed_between", "health"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Health:
    """What is left of the ways from switches to goals.

    Attributes:
        target: The vertex that each link of the fabric enters.
        pace: What is left of each link's rate.
        row: For each vertex its row of *left*; -1 where all ways are left.
        column: For each goal its column of *left*; -1 for other vertices.
        left: The share that is left, more than 0 and at most 1.
    """

    target: NDArray[np.int32]
    pace: NDArray[np.float64]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    left: NDArray[np.float64]

    def weight(self, links: NDArray[np.int32], goal: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much each link is worth as the next one towards its goal."""
        weight = self.pace[links]
        row = self.row[self.target[links]]
        hurt = np.flatnonzero(row >= 0)
        weight[hurt] *= self.left[row[hurt], self.column[goal[hurt]]]
        return weight


def health(known: RoutingTables, goals: NDArray[np.int64]) -> Health | None:
    """Return what is left of the ways to *goals*; None where nothing between switches is amiss.

    Fabrics that are not up/down routed (torus, dragonfly+) are not looked at: None.

    Args:
        known: Tables of the fabric as it stands.
        goals: Edge switches, sorted, each once.
    """
    fabric, router = known.fabric, known.between
    edited = changed_between(fabric)
    if not isinstance(router, UpDown) or not edited.any():
        return None
    whole = _whole(fabric)
    search = _Search(
        fabric=fabric,
        now=router,
        built=up_down(whole, adjacency(whole)),
        goals=goals,
        found=Health(
            target=fabric.link_target,
            pace=1.0 / fabric.link_slowdown.astype(np.float64),
            row=np.full(fabric.num_vertices, -1, dtype=np.int32),
            column=_numbered(goals, fabric.num_vertices),
            left=np.ones((0, len(goals))),
        ),
    )
    return search.run(np.unique(fabric.link_source[edited]).astype(np.int64))


def changed_between(fabric: Fabric) -> NDArray[np.bool_]:
    """Return of each link whether it joins switches and is not as it was built."""
    kind = fabric.vertex_kind
    between = (kind[fabric.link_source] == VertexKind.SWITCH) & (
        kind[fabric.link_target] == VertexKind.SWITCH
    )
    amiss = (fabric.link_state != LinkState.UP) | (fabric.link_slowdown != 1)
    return np.asarray(between & np.repeat(amiss.reshape(-1, 2).any(axis=1), 2))


def _whole(fabric: Fabric) -> Fabric:
    return replace(
        fabric,
        link_state=np.full_like(fabric.link_state, LinkState.UP),
        link_slowdown=np.ones_like(fabric.link_slowdown),
    )


def _numbered(vertices: NDArray[np.int64], num_vertices: int) -> NDArray[np.int32]:
    number = np.full(num_vertices, -1, dtype=np.int32)
    number[vertices] = np.arange(len(vertices), dtype=np.int32)
    return number


@dataclass(slots=True, kw_only=True, eq=False)
class _Search:
    """Goes from the goals outwards, over the switches that a change can be felt at.

    Attributes:
        now: Routing as the fabric stands.
        built: Routing with everything up.
    """

    fabric: Fabric
    now: UpDown
    built: UpDown
    goals: NDArray[np.int64]
    found: Health

    def run(self, edited: NDArray[np.int64]) -> Health:
        """Return what is found, given the switches whose own links changed."""
        suspects = edited[self.fabric.vertex_tier[edited] > 1]  # no path continues through a leaf
        tops = int(self.fabric.vertex_tier.max(initial=0))
        for away in range(1, 2 * tops):
            changed = self._level(suspects, away)
            suspects = np.union1d(suspects, self._senders(changed))
        return self.found

    def _level(self, suspects: NDArray[np.int64], away: int) -> NDArray[np.int64]:
        """Work out the pairs of *suspects* and goals *away* hops apart; return who is hurt."""
        which, column = np.divmod(np.arange(len(suspects) * len(self.goals)), len(self.goals))
        at, goal = suspects[which], self.goals[column]
        was = self._hops(self.built, at, goal)
        is_now = self._hops(self.now, at, goal)
        here = (was == away) & (at != goal)
        same = np.flatnonzero(here & (is_now == was))
        left = self._left(at[same], goal[same])
        hurt = same[left < 1]
        self._note(at[hurt], column[hurt], left[left < 1])
        return np.unique(np.concatenate([at[hurt], at[here & (is_now != was)]]))

    def _hops(
        self, router: UpDown, at: NDArray[np.int64], goal: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many links away each goal is; -1 where it cannot be reached."""
        ups = router.cost(at, goal)
        return np.where(ups < 0, -1, 2 * ups + self.fabric.vertex_tier[at] - 1)

    def _left(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the ways that is left, of those that are as short as ever."""
        total = np.zeros(len(at))
        for fan in self.now.fans(at, goal):
            owner, position = spans(fan.start, fan.count)
            links = fan.links[position]
            query = fan.where[owner]
            np.add.at(total, query, self.found.weight(links, goal[query]))
        count = np.ones(len(at))
        for fan in self.built.fans(at, goal):
            count[fan.where] = fan.count
        return total / count

    def _note(
        self, at: NDArray[np.int64], column: NDArray[np.int64], left: NDArray[np.float64]
    ) -> None:
        found = self.found
        fresh = np.unique(at[found.row[at] < 0])
        found.row[fresh] = len(found.left) + np.arange(len(fresh), dtype=np.int32)
        table = np.concatenate([found.left, np.ones((len(fresh), len(self.goals)))])
        table[found.row[at], column] = left
        self.found = replace(found, left=table)

    def _senders(self, changed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the switches above the first tier with a link into one of *changed*."""
        fabric = self.fabric
        hurt = np.zeros(fabric.num_vertices, dtype=np.bool_)
        hurt[changed] = True
        source = np.unique(fabric.link_source[hurt[fabric.link_target]]).astype(np.int64)
        return source[fabric.vertex_tier[source] > 1]
