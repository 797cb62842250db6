"""Whether routes can deadlock or loop.

On a lossless fabric (InfiniBand credits, PFC) a packet holds the buffer behind one link while
it waits for room behind the next. If these waits form a cycle of links, the packets on it may
all wait for one another: a deadlock. Without a cycle there is none: Dally and Seitz,
"Deadlock-free message routing in multiprocessor interconnection networks", IEEE Trans.
Computers C-36 (1987). One virtual lane (or priority) is assumed; routes that change lanes on
the way can be free of deadlock although they are found cyclic here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.names import link_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Paths

__all__ = [
    "Verdict",
    "adaptive_dependencies",
    "check",
    "check_adaptive",
    "dependencies",
    "find_cycle",
    "loops",
    "prove_by_tiers",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a routing is free of deadlock.

    Attributes:
        free: Whether no cyclic buffer dependency exists.
        cycle: Otherwise, the links of one such cycle in order, by name; the last waits for the
            first.
        reason: Why, in a sentence.
    """

    free: bool
    cycle: tuple[str, ...] = ()
    reason: str


def check(fabric: Fabric, paths: Paths) -> Verdict:
    """Return whether packets that follow *paths* can deadlock."""
    return _verdict(fabric, dependencies(fabric, paths), "these paths")


def check_adaptive(known: RoutingTables) -> Verdict:
    """Return whether packets that take any candidate, between all pairs, can deadlock.

    Work grows with edge switches times links: meant for fabrics of some thousand switches.
    """
    return _verdict(known.fabric, adaptive_dependencies(known), "the candidates of all pairs")


def prove_by_tiers(fabric: Fabric) -> Verdict | None:
    """Return the proof that up*/down* routing, of whatever paths, cannot deadlock; else None.

    Order the links between switches: up-links by the tier they leave, then down-links by the
    tier they leave, highest first. If no link joins two switches of one tier, every hop of
    an up*/down* path goes to a later link, so no cycle can exist. One pass over the links.
    """
    kind, tier = fabric.vertex_kind, fabric.vertex_tier
    source, target = fabric.link_source, fabric.link_target
    level = (kind[source] == VertexKind.SWITCH) & (kind[target] == VertexKind.SWITCH)
    level &= (tier[source] == tier[target]) & (fabric.link_state == LinkState.UP)
    if level.any():
        return None
    reason = "every link between switches changes tier, and no path turns up after down"
    return Verdict(free=True, reason=reason)


def loops(fabric: Fabric, paths: Paths) -> NDArray[np.int64]:
    """Return the flows whose path visits a vertex twice."""
    length = np.diff(paths.offsets)
    flow = np.repeat(np.arange(len(paths)), length)
    some = np.flatnonzero(length)
    first = fabric.link_source[paths.links[paths.offsets[some]]]
    visit = np.concatenate([some, flow]) * fabric.num_vertices
    visit += np.concatenate([first, fabric.link_target[paths.links]])
    visit.sort()
    return np.unique(visit[1:][np.diff(visit) == 0] // fabric.num_vertices)


def dependencies(fabric: Fabric, paths: Paths) -> NDArray[np.int64]:
    """Return the pairs (link held, link waited for) that *paths* cause, each once, sorted.

    A GPU takes data into its own memory, so nothing is held across one.
    """
    held, wanted = paths.links[:-1], paths.links[1:]
    joined = np.ones(len(held), dtype=np.bool_)
    ends = paths.offsets[1:-1]
    joined[ends[(ends > 0) & (ends < len(paths.links))] - 1] = False
    joined &= fabric.vertex_kind[fabric.link_target[held]] != VertexKind.GPU
    return _unique_pairs(held[joined], wanted[joined])


def adaptive_dependencies(known: RoutingTables) -> NDArray[np.int64]:
    """Return the pairs (link held, link waited for) between switches of all candidates."""
    edges = np.unique(known.near.edge[known.near.edge >= 0]).astype(np.int64)
    found = [np.empty((0, 2), dtype=np.int64)]
    for goal in edges:
        others = edges[edges != goal]
        starts = others[known.between.cost(others, np.full(len(others), goal)) >= 0]
        found.append(_dependencies_toward(known, starts, goal))
    pairs = np.concatenate(found)
    return _unique_pairs(pairs[:, 0], pairs[:, 1])


def _dependencies_toward(
    known: RoutingTables, starts: NDArray[np.int64], goal: np.int64
) -> NDArray[np.int64]:
    """Follow all candidates from *starts* to *goal*, each vertex once."""
    target = known.fabric.link_target
    onward: dict[int, NDArray[np.int32]] = {}
    for _, steps in known.between.toward(np.array([goal])):
        reached = starts
        while len(reached):
            for fan in steps.fans(reached, np.full(len(reached), goal)):
                ends = zip(reached[fan.where], fan.start, fan.start + fan.count, strict=True)
                onward |= {int(at): fan.links[start:end] for at, start, end in ends}
            following = np.unique(target[np.concatenate([onward[int(at)] for at in reached])])
            fresh = [at for at in following.tolist() if at != goal and at not in onward]
            reached = np.array(fresh, dtype=np.int64)
    held = np.concatenate([np.empty(0, dtype=np.int32), *onward.values()])
    waits = [onward.get(int(at), held[:0]) for at in target[held]]
    wanted = np.concatenate([held[:0], *waits])
    return np.stack([np.repeat(held, [len(links) for links in waits]), wanted], axis=1)


def find_cycle(pairs: NDArray[np.int64]) -> list[int] | None:
    """Return the numbers of one cycle of the directed graph *pairs*, or None.

    Vertices without a way in are struck off until none is left (Kahn 1962); from a vertex that
    remains, walking back along edges that remain must come round.
    """
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for one, other in pairs.tolist():
        after.setdefault(one, []).append(other)
        before.setdefault(other, []).append(one)
    waiting = {vertex: len(sources) for vertex, sources in before.items()}
    free = [vertex for vertex in after if vertex not in before]
    while free:
        for vertex in after.get(free.pop(), ()):
            waiting[vertex] -= 1
            if waiting[vertex] == 0:
                del waiting[vertex]
                free.append(vertex)
    return _walk_back(before, waiting) if waiting else None


def _walk_back(before: dict[int, list[int]], left: dict[int, int]) -> list[int]:
    vertex = min(left)
    seen: dict[int, int] = {}
    trail: list[int] = []
    while vertex not in seen:
        seen[vertex] = len(trail)
        trail.append(vertex)
        vertex = next(source for source in before[vertex] if source in left)
    return trail[seen[vertex] :][::-1]


def _unique_pairs(held: NDArray[np.integer], wanted: NDArray[np.integer]) -> NDArray[np.int64]:
    key = np.unique((held.astype(np.int64) << 32) | wanted.astype(np.int64))
    return np.stack([key >> 32, key & 0xFFFFFFFF], axis=1)


def _verdict(fabric: Fabric, pairs: NDArray[np.int64], what: str) -> Verdict:
    cycle = find_cycle(pairs)
    if cycle is None:
        reason = f"{what} cause {len(pairs)} buffer dependencies, and no cycle of them"
        return Verdict(free=True, reason=reason)
    names = tuple(link_name(fabric, link) for link in cycle)
    reason = f"{what} let {len(names)} links wait for one another in a circle"
    return Verdict(free=False, cycle=names, reason=reason)
