"""Flows split evenly over all their ways through a wiring.

Flows that leave their endpoint for the same switches, and reach their target from the same ones,
take the same ways in between. These are worked out once, and of the links that carry the same
share of every such pair one stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines import native
from netloom.engines.flow.fans import Fans
from netloom.engines.flow.ways import FlowPaths, check_entries, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["split_wired_ways"]

_MAX_FLAGS: Final = 1 << 26  # pairs that are numbered by a flag each; beyond, they are sorted


def split_wired_ways(
    wiring: PacketTopology, flows: Flows, *, kind: NDArray[np.uint32]
) -> FlowPaths:
    """Return each flow's links and shares; links of one *kind* may be taken for each other.

    Raises:
        InfeasibleError: Two endpoints have no path, or the ways do not fit in memory.
    """
    fans = Fans.of(wiring)
    source, target = flows.source.astype(np.int64), flows.target.astype(np.int64)
    start, count, links = fans.fan(source, target)
    first = _EndLinks(owner=None, links=links, start=start, count=count, share=None)
    through = np.flatnonzero(start < len(wiring.links))  # the others are joined by a link
    pairs = _Pairs.of(fans, source[through], target[through])
    ways = native.split_pairs(_ground(wiring, kind) | pairs.arrays())
    _check(fans, pairs, ways, target[through])
    number = np.full(len(flows), len(pairs.key), dtype=np.int64)
    number[through] = pairs.number
    last = _last(fans, ways, number, target)
    return _laid(first, ways, number, last)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _EndLinks:
    """Links at one end of flows: *count* links from ``links[start]`` carry *share* together.

    Without owners there is one row for each flow, and without shares each carries the whole.
    """

    owner: NDArray[np.int64] | None
    links: NDArray[np.int32]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    share: NDArray[np.float64] | None


def _ground(wiring: PacketTopology, kind: NDArray[np.uint32]) -> dict[str, Any]:
    return {
        "link_target": wiring.link_target,
        "kind": kind,
        "choices": np.ascontiguousarray(wiring.choices).reshape(-1),
        "offsets": wiring.offsets,
        "links": wiring.links,
        "num_goals": wiring.choices.shape[1],
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pairs:
    """Flows by where they leave their endpoint and where they come to their target.

    Attributes:
        origins: For each origin, vertices behind the first links and the share that reaches each.
        destinations: For each destination, its goal and the vertices that its targets are joined
            to.
        key: Of each pair, origin times the number of destinations plus destination.
        number: The pair of each flow.
    """

    origins: list[tuple[tuple[int, ...], tuple[float, ...]]]
    destinations: list[tuple[int, tuple[int, ...]]]
    key: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def of(cls, fans: Fans, source: NDArray[np.int64], target: NDArray[np.int64]) -> _Pairs:
        """Return the pairs of flows that are not joined by a link."""
        wiring = fans.wiring
        origin, origins = _origins(wiring, wiring.choices[source, wiring.goal[target]])
        destination, destinations = _destinations(fans, target)
        key, number = _numbered(
            origin * len(destinations) + destination, len(origins) * len(destinations)
        )
        return cls(origins=origins, destinations=destinations, key=key, number=number)

    def arrays(self) -> dict[str, Any]:
        """Return them as the core takes them."""
        count = max(len(self.destinations), 1)
        return {
            "start_offsets": _offsets([len(vertices) for vertices, _ in self.origins]),
            "start_vertex": _flat([vertices for vertices, _ in self.origins], np.int32),
            "start_share": _flat([shares for _, shares in self.origins], np.float64),
            "goal": np.array([goal for goal, _ in self.destinations], dtype=np.int32),
            "exit_offsets": _offsets([len(exits) for _, exits in self.destinations]),
            "exit_vertex": _flat([exits for _, exits in self.destinations], np.int32),
            "origin": (self.key // count).astype(np.uint32),
            "destination": (self.key % count).astype(np.uint32),
        }


def _offsets(counts: list[int]) -> NDArray[np.uint64]:
    return np.cumsum([0, *counts], dtype=np.uint64)


def _flat(rows: list[Any], dtype: type) -> NDArray[Any]:
    return np.array([value for row in rows for value in row], dtype=dtype)


def _numbered(key: NDArray[np.int64], span: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys below *span*, ascending, and the number of each."""
    if span > _MAX_FLAGS:
        distinct, number = np.unique(key, return_inverse=True)
        return distinct, number.reshape(-1)
    found = np.zeros(span, dtype=np.bool_)
    found[key] = True
    place = np.cumsum(found, dtype=np.int64) - 1
    return np.flatnonzero(found), place[key]


def _origins(
    wiring: PacketTopology, chosen: NDArray[np.int32]
) -> tuple[NDArray[np.int64], list[tuple[tuple[int, ...], tuple[float, ...]]]]:
    """Return the origin of each flow by its set of first links, and what each origin is."""
    sets, number = _numbered(chosen.astype(np.int64), len(wiring.offsets) - 1)
    known: dict[tuple[tuple[int, ...], tuple[float, ...]], int] = {}
    of_set = np.empty(len(sets), dtype=np.int64)
    for place, one in enumerate(sets.tolist()):
        links = wiring.links[wiring.offsets[one] : wiring.offsets[one + 1]]
        reached: dict[int, float] = {}
        for vertex in wiring.link_target[links].tolist():
            reached[vertex] = reached.get(vertex, 0.0) + 1 / len(links)
        vertices = tuple(sorted(reached))
        origin = (vertices, tuple(reached[vertex] for vertex in vertices))
        of_set[place] = known.setdefault(origin, len(known))
    return of_set[number], list(known)


def _destinations(
    fans: Fans, target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[tuple[int, tuple[int, ...]]]]:
    """Return the destination of each flow by its target, and what each destination is."""
    wiring = fans.wiring
    targets, number = _numbered(target, wiring.num_endpoints)
    exits: dict[int, set[int]] = {}
    for key in fans.key.tolist():
        exits.setdefault(key % wiring.num_vertices, set()).add(key // wiring.num_vertices)
    like = _like_goals(wiring, targets)
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    of_target = np.empty(len(targets), dtype=np.int64)
    for place, (one, goal) in enumerate(zip(targets.tolist(), like.tolist(), strict=True)):
        destination = (goal, tuple(sorted(exits.get(one, ()))))
        of_target[place] = known.setdefault(destination, len(known))
    return of_target[number], list(known)


def _like_goals(wiring: PacketTopology, targets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the goal of each target, or a former one that all vertices have the same ways to.

    Endpoints on several switches are a goal each, though those on the same ones are reached alike.
    """
    goals, number = _numbered(wiring.goal[targets].astype(np.int64), wiring.choices.shape[1])
    joins = (wiring.link_source < wiring.num_endpoints) & (
        wiring.link_target < wiring.num_endpoints
    )
    # Endpoints forward nothing, unless they are joined to one another.
    rows = wiring.choices if joins.any() else wiring.choices[wiring.num_endpoints :]
    columns = np.ascontiguousarray(rows.T)[goals]
    first: dict[bytes, int] = {}
    like = [
        first.setdefault(column.tobytes(), int(goal))
        for goal, column in zip(goals, columns, strict=True)
    ]
    return np.array(like, dtype=np.int64)[number]


def _check(fans: Fans, pairs: _Pairs, ways: dict[str, Any], target: NDArray[np.int64]) -> None:
    if ways["circles"]:
        fans.check_length(fans.wiring.num_vertices + 1)
    if len(ways["lost_pair"]):
        at = np.full(len(pairs.key), -1, dtype=np.int64)
        at[ways["lost_pair"]] = ways["lost_at"]
        lost_at = at[pairs.number]
        fans.check_found(lost_at, target, lost_at < 0)


def _last(
    fans: Fans, ways: dict[str, Any], number: NDArray[np.int64], target: NDArray[np.int64]
) -> _EndLinks:
    """Return the links into the targets of flows that have a pair."""
    offsets = np.append(ways["exit_offsets"].astype(np.int64), len(ways["exit_vertex"]))
    count = np.diff(offsets)[number]
    owner = np.repeat(np.arange(len(number)), count)
    exits = places(offsets[number], count)
    start, straight = fans.straight(ways["exit_vertex"].astype(np.int64)[exits], target[owner])
    share = ways["exit_share"][exits]
    return _EndLinks(owner=owner, links=fans.links, start=start, count=straight, share=share)


def _laid(
    first: _EndLinks, ways: dict[str, Any], number: NDArray[np.int64], last: _EndLinks
) -> FlowPaths:
    """Put together the first links of each flow, what its pair has in between, and the last."""
    num_flows = len(number)
    middle = np.append(ways["offsets"].astype(np.int64), len(ways["links"]))
    between = np.diff(middle)[number]
    ending = _ending(last, num_flows)
    offsets = np.zeros(num_flows + 1, dtype=np.int64)
    np.cumsum(first.count + between + ending, out=offsets[1:])
    check_entries(int(offsets[-1]))
    links = np.empty(offsets[-1], dtype=np.int32)
    shares = np.empty(offsets[-1], dtype=np.float32)
    times = np.ones(offsets[-1], dtype=np.uint32)
    at = places(offsets[:-1], first.count)
    links[at] = first.links[places(first.start, first.count)]
    shares[at] = np.repeat(1 / first.count, first.count)
    at, inside = places(offsets[:-1] + first.count, between), places(middle[number], between)
    links[at], shares[at] = ways["links"][inside], ways["shares"][inside]
    times[at] = ways["times"][inside]
    at = places(offsets[1:] - ending, ending)
    links[at] = last.links[places(last.start, last.count)]
    assert last.share is not None
    shares[at] = np.repeat(last.share / last.count, last.count)
    return FlowPaths(offsets=offsets, links=links, shares=shares, times=times, group=ways["group"])


def _ending(last: _EndLinks, num_flows: int) -> NDArray[np.int64]:
    assert last.owner is not None
    return np.bincount(last.owner, last.count, minlength=num_flows).astype(np.int64)
