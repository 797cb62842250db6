"""From a way of routing between switches to the next links from every vertex to every goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError
from netloom.fabric.wiring.linksets import EMPTY, LinkSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.router import Router

__all__ = ["Attachments", "NextHops", "check_size", "next_hops"]

MAX_TABLE_BYTES: Final = 2 << 30  # of next links; beyond it the flow engine is the one to ask
_FAR: Final = np.iinfo(np.int32).max
_Patterns = tuple["NDArray[np.bool_]", "NDArray[np.int64]"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attachments:
    """Where endpoints are plugged in: one entry for each link from an endpoint to a switch.

    Attributes:
        endpoint: Who; ascending.
        link: The link that leaves the endpoint.
        edge: The switch it leads to; of a NIC that several GPUs share, that NIC.
        leaf: The switch that routing knows: the edge itself, or what the shared NIC hangs on.
        uplink: For a shared NIC the link from it to the leaf; -1 for others.
    """

    endpoint: NDArray[np.int64]
    link: NDArray[np.int32]
    edge: NDArray[np.int64]
    leaf: NDArray[np.int64]
    uplink: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextHops:
    """The routing half of a packet topology, with its sets still open."""

    goal: NDArray[np.int32]
    choices: NDArray[np.int32]
    sets: LinkSets


def next_hops(
    router: Router,
    doors: Attachments,
    *,
    num_endpoints: int,
    first_switch: int,
    num_vertices: int,
    num_links: int,
) -> NextHops:
    """Return the next links from each vertex to each goal.

    Endpoints that hang on the same switches share a goal. A switch takes the shortest ways to
    whichever of them is nearest; so does an endpoint that has several links.

    Args:
        router: The ways between switches.
        doors: Where the endpoints are plugged in.
        num_endpoints: Vertices below this are endpoints.
        first_switch: Vertices from here on are switches that the router knows.
        num_vertices: Vertices in all.
        num_links: Links in all.

    Raises:
        InfeasibleError: the table would not fit in memory.
    """
    edges, goal, members = _goals(doors, num_endpoints)
    check_size(num_vertices, len(members))
    sets = LinkSets(num_links)
    switches = np.arange(first_switch, num_vertices)
    table, cost = _toward_edges(router, doors, edges, switches, sets)
    choices = np.full((num_vertices, len(members)), EMPTY, dtype=np.int32)
    nearest = np.full((num_vertices, len(members)), _FAR, dtype=np.int32)
    widths = (members >= 0).sum(axis=1)
    for width in np.unique(widths[widths > 0]).tolist():
        some = np.flatnonzero(widths == width)
        found, near = _merged(table, cost, members[some][:, -width:], sets)
        choices[:, some], nearest[:, some] = found, near
    _endpoint_rows(doors, nearest, choices, sets)
    return NextHops(goal=goal, choices=choices, sets=sets)


def check_size(num_vertices: int, num_goals: int) -> None:
    """Raise InfeasibleError when a table of that many rows and columns is too large."""
    size_bytes = 4 * num_vertices * num_goals
    if size_bytes > MAX_TABLE_BYTES:
        raise InfeasibleError(
            key="routes",
            what=(
                f"{num_vertices:,} vertices to {num_goals:,} goals take "
                f"{size_bytes / 2**30:.0f} GiB"
            ),
            remedy="use a smaller cluster, or --engine flow",
        )


def _goals(
    doors: Attachments, num_endpoints: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return all edges, the goal of each endpoint, and the edges of each goal behind some -1."""
    edges = np.unique(doors.edge)
    turn = np.arange(len(doors.endpoint)) - np.searchsorted(doors.endpoint, doors.endpoint)
    hangs = np.full((num_endpoints, int(turn.max(initial=0)) + 1), -1, dtype=np.int64)
    hangs[doors.endpoint, turn] = np.searchsorted(edges, doors.edge)
    hangs.sort(axis=1)
    hangs[:, 1:][hangs[:, 1:] == hangs[:, :-1]] = -1
    hangs.sort(axis=1)
    members, goal = np.unique(hangs, axis=0, return_inverse=True)
    return edges, goal.reshape(-1).astype(np.int32), members


def _toward_edges(
    router: Router,
    doors: Attachments,
    edges: NDArray[np.int64],
    switches: NDArray[np.int64],
    sets: LinkSets,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return, for each vertex and edge, the set of next links and how far it is."""
    _, first = np.unique(doors.edge, return_index=True)
    leaf, uplink = doors.leaf[first], doors.uplink[first]
    leaves, column = np.unique(leaf, return_inverse=True)
    table, cost = _between(router, leaves, switches, sets)
    table, cost = table[:, column.reshape(-1)], cost[:, column.reshape(-1)]
    shared = np.flatnonzero(uplink >= 0)
    if len(shared):  # NICs of several GPUs stand between those and the leaf
        nics = edges[shared]
        table[leaf[shared], shared] = sets.singles(uplink[shared] ^ 1)
        cost[cost < _FAR] += 1
        table[nics] = np.where(cost[leaf[shared]] < _FAR, sets.singles(uplink[shared])[:, None], 0)
        cost[nics] = cost[leaf[shared]] + (cost[leaf[shared]] < _FAR)
        table[nics, shared], cost[nics, shared] = EMPTY, 0
    return table, cost


def _between(
    router: Router, leaves: NDArray[np.int64], switches: NDArray[np.int64], sets: LinkSets
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the same for the switches that routing knows."""
    shape = (int(switches[-1]) + 1 if len(switches) else 0, len(leaves))
    table = np.full(shape, EMPTY, dtype=np.int32)
    cost = np.full(shape, _FAR, dtype=np.int32)
    for batch, steps in router.toward(leaves):
        at, goal = np.repeat(switches, len(batch)), np.tile(batch, len(switches))
        far = router.cost(at, goal)
        known = far >= 0
        at, goal, far = at[known], goal[known], far[known]
        column = np.searchsorted(leaves, goal)
        cost[at, column] = np.where(at == goal, 0, far + 1)
        away = at != goal
        at, goal, column = at[away], goal[away], column[away]
        for fan in steps.fans(at, goal):
            table[at[fan.where], column[fan.where]] = sets.rows(fan.start, fan.count, fan.links)
    return table, cost


def _merged(
    table: NDArray[np.int32],
    cost: NDArray[np.int32],
    members: NDArray[np.int64],
    sets: LinkSets,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return next links and distance to the nearest of the edges in each row of *members*."""
    if members.shape[1] == 1:
        return table[:, members[:, 0]], cost[:, members[:, 0]]
    options, away = table[:, members], cost[:, members]  # vertex, goal, edge
    near = away.min(axis=2)
    options = np.where(away == near[:, :, None], options, EMPTY)
    flat = np.sort(options.reshape(-1, members.shape[1]), axis=1)
    distinct, inverse = np.unique(flat, axis=0, return_inverse=True)
    numbers = np.array([sets.union(row) for row in distinct.tolist()], dtype=np.int32)
    found = numbers[inverse.reshape(-1)].reshape(near.shape)
    found[near == 0] = EMPTY  # joined to the goal itself
    return found, near


def _endpoint_rows(
    doors: Attachments, nearest: NDArray[np.int32], choices: NDArray[np.int32], sets: LinkSets
) -> None:
    """Fill in which of its links each endpoint takes: those whose switch is nearest the goal."""
    alone = np.bincount(doors.endpoint)[doors.endpoint] == 1
    one = np.flatnonzero(alone)
    number = sets.singles(doors.link[one])
    reached = nearest[doors.edge[one]] < _FAR
    choices[doors.endpoint[one]] = np.where(reached, number[:, None], EMPTY)
    several = np.flatnonzero(~alone)
    begin = several[np.flatnonzero(np.diff(doors.endpoint[several], prepend=-1))]
    count = np.bincount(doors.endpoint)[doors.endpoint[begin]]
    patterns: dict[bytes, _Patterns] = {}  # endpoints on the same switches choose alike
    for first, width in zip(begin.tolist(), count.tolist(), strict=True):
        edge, links = doors.edge[first : first + width], doors.link[first : first + width]
        if edge.tobytes() not in patterns:
            patterns[edge.tobytes()] = _patterns(nearest[edge])
        rows, which = patterns[edge.tobytes()]
        numbers = [sets.one(links[row]) for row in rows]
        choices[doors.endpoint[first]] = np.array(numbers, dtype=np.int32)[which]


def _patterns(away: NDArray[np.int32]) -> _Patterns:
    """Return the distinct choices among some doors, and which of them is right for each goal."""
    best = (away == away.min(axis=0)) & (away < _FAR)
    rows, which = np.unique(best.T, axis=0, return_inverse=True)
    return rows, which.reshape(-1)
