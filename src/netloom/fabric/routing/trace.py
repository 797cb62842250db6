"""Follow flows from GPU to GPU, all of them one hop at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from netloom.fabric.routing.doors import ends
from netloom.fabric.routing.flows import Flows, Paths, check_flows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.doors import NicPairs
    from netloom.fabric.routing.router import Fan, Router

    Hops = list[tuple[NDArray[np.int64], NDArray[np.int32]]]

__all__ = ["Chooser", "FlowsAtSwitch", "stays_inside", "trace"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowsAtSwitch:
    """What a switch sees of flows that stand in front of it.

    Attributes:
        source: Vertex the packets were sent from: a NIC port, or a GPU inside a node.
        target: Vertex they are addressed to.
        source_port: UDP source port.
        at: The vertex that must choose.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    source_port: NDArray[np.uint16]
    at: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.at)


class Chooser(Protocol):
    """Picks one of several equal ways."""

    def ends(self, packets: FlowsAtSwitch, count: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of *count* pairs of NIC ports each flow uses; addresses are GPUs."""
        ...

    def links(self, packets: FlowsAtSwitch, fan: Fan) -> NDArray[np.int64]:
        """Return the position in ``fan.links`` of the link that each of *packets* takes."""
        ...


def trace(known: RoutingTables, flows: Flows, chooser: Chooser, *, pxn: bool) -> Paths:
    """Return the path of each flow.

    Raises:
        SpecError: A flow does not join two different GPUs of the fabric.
        InfeasibleError: Two GPUs have no path left.
    """
    check_flows(known.fabric, flows)
    inside = stays_inside(known, flows)
    which = np.flatnonzero(inside)
    hops = _walk(known, known.inside, chooser, _packets(flows, which), which)
    hops += _outside(known, flows, np.flatnonzero(~inside), chooser, pxn=pxn)
    return _paths(hops, len(flows))


def stays_inside(known: RoutingTables, flows: Flows) -> NDArray[np.bool_]:
    """Say which flows stay in their node: those whose scale-up network joins the two GPUs."""
    node = known.fabric.vertex_node
    inside = node[flows.source] == node[flows.target]
    where = np.flatnonzero(inside)
    inside[where] = known.inside.cost(flows.source[where], flows.target[where]) >= 0
    return np.asarray(inside)


def _outside(
    known: RoutingTables, flows: Flows, which: NDArray[np.int64], chooser: Chooser, *, pxn: bool
) -> Hops:
    pair = _one_each(ends(known, flows, which, pxn=pxn), flows, chooser)
    fabric, near = known.fabric, known.near
    sender = fabric.link_source[pair.out].astype(np.int64)
    port = flows.source_port[which]
    source = flows.source[which]
    relay = FlowsAtSwitch(source=source, target=sender, source_port=port, at=source)
    wire = FlowsAtSwitch(
        source=pair.source_port,
        target=pair.target_port,
        source_port=port,
        at=near.edge[pair.source_port].astype(np.int64),
    )
    return [
        *_walk(known, known.inside, chooser, relay, which),
        (which, pair.out),
        (which, near.edge_link[pair.source_port]),
        *_walk(known, known.between, chooser, wire, which),
        (which, near.edge_link[pair.target_port] ^ 1),
        (which, pair.back),
    ]


def _one_each(pairs: NicPairs, flows: Flows, chooser: Chooser) -> NicPairs:
    first = np.flatnonzero(np.diff(pairs.flow, prepend=-1))
    count = np.diff(np.append(first, len(pairs.flow)))
    return pairs.take(first + chooser.ends(_packets(flows, pairs.flow[first]), count))


def _packets(flows: Flows, which: NDArray[np.int64]) -> FlowsAtSwitch:
    source = flows.source[which]
    return FlowsAtSwitch(
        source=source,
        target=flows.target[which],
        source_port=flows.source_port[which],
        at=source,
    )


def _walk(
    known: RoutingTables,
    router: Router,
    chooser: Chooser,
    packets: FlowsAtSwitch,
    flow: NDArray[np.int64],
) -> Hops:
    """Take the packets to where they are addressed, or to the switch that port is plugged into."""
    edge = known.near.edge[packets.target]
    goal = np.where(edge >= 0, edge, packets.target).astype(np.int64)
    at = packets.at.copy()
    hops: Hops = []
    for goals, steps in router.toward(goal[at != goal]):
        mine = np.flatnonzero((at != goal) & (goal >= goals[0]) & (goal <= goals[-1]))
        while len(mine):
            link = np.empty(len(mine), dtype=np.int32)
            for fan in steps.fans(at[mine], goal[mine]):
                asked = mine[fan.where]
                link[fan.where] = fan.links[chooser.links(_at(packets, at, asked), fan)]
            hops.append((flow[mine], link))
            at[mine] = known.fabric.link_target[link]
            mine = mine[at[mine] != goal[mine]]
    return hops


def _at(packets: FlowsAtSwitch, at: NDArray[np.int64], which: NDArray[np.int64]) -> FlowsAtSwitch:
    return FlowsAtSwitch(
        source=packets.source[which],
        target=packets.target[which],
        source_port=packets.source_port[which],
        at=at[which],
    )


def _paths(hops: Hops, num_flows: int) -> Paths:
    flow = np.concatenate([np.empty(0, dtype=np.int64), *(flow for flow, _ in hops)])
    links = np.concatenate([np.empty(0, dtype=np.int32), *(links for _, links in hops)])
    offsets = np.zeros(num_flows + 1, dtype=np.int64)
    np.cumsum(np.bincount(flow, minlength=num_flows), out=offsets[1:])
    return Paths(offsets=offsets, links=links[np.argsort(flow, kind="stable")])
