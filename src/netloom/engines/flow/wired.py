"""The ways of flows through a wiring, by the sets of next links that it lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.ways import FlowPaths, expanded, joined, merged
from netloom.errors import InfeasibleError
from netloom.fabric.routing.murmur import five_tuple_hash
from netloom.fabric.wiring.digits import digits
from netloom.fabric.wiring.ports import most_ports, turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.settings import FlowSettings
    from netloom.engines.flow.ways import Pieces
    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.wiring.digits import Digits
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["wired_ways"]


def wired_ways(wiring: PacketTopology, flows: Flows, settings: FlowSettings) -> FlowPaths:
    """Return the way of each flow.

    Raises:
        InfeasibleError: Two endpoints have no path, or the ways do not fit in memory.
    """
    if settings.splits:
        return joined(_split(_Fans.of(wiring), flows), len(flows))
    static = digits(wiring) if settings.balance == "static" else None
    fans = _Fans.of(wiring if static is None else replace(wiring, links=static.links))
    return _followed(fans, flows, settings, static)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fans:
    """Next links of a wiring, those straight to an endpoint behind the others.

    Attributes:
        key: Source and target of each straight link as one number, ascending.
        links: The wiring's sets, then the straight links in order of *key*.
    """

    wiring: PacketTopology
    key: NDArray[np.int64]
    links: NDArray[np.int32]

    @classmethod
    def of(cls, wiring: PacketTopology) -> _Fans:
        straight = np.flatnonzero(wiring.link_target < wiring.num_endpoints)
        key = wiring.link_source[straight].astype(np.int64) * wiring.num_vertices
        key += wiring.link_target[straight]
        order = np.argsort(key, kind="stable")
        links = np.concatenate([wiring.links, straight[order].astype(np.int32)])
        return cls(wiring=wiring, key=key[order], links=links)

    def fan(
        self, at: NDArray[np.int64], target: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return where the next links of each query begin, how many they are, and all links."""
        wiring = self.wiring
        key = at * wiring.num_vertices + target
        first = np.searchsorted(self.key, key, side="left")
        num_straight = np.searchsorted(self.key, key, side="right") - first
        chosen = wiring.choices[at, wiring.goal[target]]
        begin = wiring.offsets[chosen]
        start = np.where(num_straight > 0, len(wiring.links) + first, begin)
        count = np.where(num_straight > 0, num_straight, wiring.offsets[chosen + 1] - begin)
        self._check(at, target, count)
        return start, count, self.links

    def joins_endpoint(self, at: NDArray[np.int64], link: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether a link that leaves *at* is a port of an endpoint, at either end."""
        first: int = self.wiring.num_endpoints
        return np.asarray((at < first) | (self.wiring.link_target[link] < first))

    def _check(
        self, at: NDArray[np.int64], target: NDArray[np.int64], count: NDArray[np.int64]
    ) -> None:
        lost = np.flatnonzero(count == 0)
        if len(lost):
            name = self.wiring.name
            raise InfeasibleError(
                what=(
                    f"{name[int(at[lost[0]])]} to {name[int(target[lost[0]])]}: no path is "
                    f"left ({len(lost)} flows)"
                ),
                remedy="restore a link or switch between them",
            )

    def check_length(self, num_hops: int) -> None:
        """Raise an InfeasibleError when a way visits more vertices than there are."""
        if num_hops > self.wiring.num_vertices:
            raise InfeasibleError(
                key="wiring",
                what="its routes lead round in a circle",
                remedy="correct its sets of next links",
            )


def _followed(
    fans: _Fans, flows: Flows, settings: FlowSettings, static: Digits | None
) -> FlowPaths:
    at = flows.source.astype(np.int64)
    dealt = turns(flows.source, flows.target).astype(np.int64)
    most = most_ports(fans.wiring)
    address = flows.target * most + dealt % most  # the port that a connection goes to
    mine = np.arange(len(flows))
    hops: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
    while len(mine):
        start, count, links = fans.fan(at[mine], flows.target[mine].astype(np.int64))
        of_ports = fans.joins_endpoint(at[mine], links[start])
        if static is not None:
            turn = static.number[address[mine]] // static.divisor[links[start]]
        else:
            turn = _hashed(flows, mine, at[mine], settings)
        link = links[start + np.where(of_ports, dealt[mine], turn) % count]
        hops.append((mine, link))
        fans.check_length(len(hops))
        at[mine] = fans.wiring.link_target[link]
        mine = mine[at[mine] != flows.target[mine]]
    return _laid(hops, len(flows))


def _hashed(
    flows: Flows, which: NDArray[np.int64], at: NDArray[np.int64], settings: FlowSettings
) -> NDArray[np.int64]:
    seed = at if settings.hash_seeds == "distinct" else np.zeros(len(at), dtype=np.int64)
    value = five_tuple_hash(
        flows.source[which], flows.target[which], flows.source_port[which], seed=seed
    )
    return value.astype(np.int64)


def _laid(hops: list[tuple[NDArray[np.int64], NDArray[np.int32]]], num_flows: int) -> FlowPaths:
    flow = np.concatenate([np.empty(0, dtype=np.int64), *(flow for flow, _ in hops)])
    links = np.concatenate([np.empty(0, dtype=np.int32), *(links for _, links in hops)])
    offsets = np.zeros(num_flows + 1, dtype=np.int64)
    np.cumsum(np.bincount(flow, minlength=num_flows), out=offsets[1:])
    links = links[np.argsort(flow, kind="stable")]
    return FlowPaths(offsets=offsets, links=links, shares=np.empty(0, dtype=np.float32))


def _split(fans: _Fans, flows: Flows) -> list[Pieces]:
    owner = np.arange(len(flows))
    at = flows.source.astype(np.int64)
    target = flows.target.astype(np.int64)
    share = np.ones(len(flows))
    found: list[Pieces] = []
    num_hops = 0
    while len(owner):
        pieces = expanded(owner, share, fans.fan(at, target[owner]))
        found.append(pieces)
        num_hops += 1
        fans.check_length(num_hops)
        reached = fans.wiring.link_target[pieces[1]].astype(np.int64)
        owner, at, share = merged(
            (pieces[0], reached, pieces[2]), num_vertices=fans.wiring.num_vertices
        )
        onward = at != target[owner]
        owner, at, share = owner[onward], at[onward], share[onward]
    return found
