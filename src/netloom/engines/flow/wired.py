"""The ways of flows through a wiring, by the sets of next links that it lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.fans import Fans
from netloom.engines.flow.ways import FlowPaths
from netloom.fabric.routing.murmur import five_tuple_hash
from netloom.fabric.wiring.digits import digits
from netloom.fabric.wiring.ports import most_ports, turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.settings import FlowSettings
    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.wiring.digits import Digits
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["wired_ways"]


def wired_ways(wiring: PacketTopology, flows: Flows, settings: FlowSettings) -> FlowPaths:
    """Return the way of each flow, one for each.

    Raises:
        InfeasibleError: Two endpoints have no path.
    """
    static = digits(wiring) if settings.balance == "static" else None
    fans = Fans.of(wiring if static is None else replace(wiring, links=static.links))
    return _followed(fans, flows, settings, static)


def _followed(fans: Fans, flows: Flows, settings: FlowSettings, static: Digits | None) -> FlowPaths:
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
