"""The ways of flows through a fabric or a wiring, as links and the share each one carries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.split import split_ways
from netloom.engines.flow.split_wired import split_wired_ways
from netloom.engines.flow.ways import FlowPaths
from netloom.engines.flow.wired import wired_ways
from netloom.fabric.graph import Fabric, VertexKind
from netloom.fabric.routing import dmodk, ecmp
from netloom.fabric.routing.candidates import RoutingTables, tables
from netloom.fabric.routing.flows import Flows
from netloom.fabric.routing.source_ports import mixed_ports

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.settings import FlowSettings
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Ground", "ground", "num_switches", "way_delay_ps", "ways_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """A network ready to route on.

    Attributes:
        routes: A fabric's routing tables, or a wiring, which has its own.
        num_endpoints: GPUs of the fabric, or endpoints of the wiring.
        link_rate_bps: What is left of each link's nominal rate.
        is_scale_up: Of each link.
        is_edge: Of each link, whether it joins a NIC port and a switch.
        is_host: Of each link, whether it joins a GPU and its NIC port.
        is_switch: Of each vertex, whether it is a scale-out switch.
        link_delay_ps: What a wiring says of each link: its propagation, and what the vertex it
            enters adds; nothing for a fabric, whose latency is the technology's.
    """

    routes: RoutingTables | PacketTopology
    num_endpoints: int
    link_rate_bps: NDArray[np.float64]
    link_target: NDArray[np.int32]
    is_scale_up: NDArray[np.bool_]
    is_edge: NDArray[np.bool_]
    is_host: NDArray[np.bool_]
    is_switch: NDArray[np.bool_]
    link_delay_ps: NDArray[np.int64]

    def link_kind(self) -> NDArray[np.uint32]:
        """Return the kind of each link: those between switches that are alike are of one kind."""
        between = ~(self.is_scale_up | self.is_edge | self.is_host)
        _, rate = np.unique(self.link_rate_bps, return_inverse=True)
        delays, delay = np.unique(self.link_delay_ps, return_inverse=True)
        alike = (rate.reshape(-1) * len(delays) + delay.reshape(-1)) * 2
        alike += self.is_switch[self.link_target]
        kind = np.where(between, alike, int(alike.max(initial=0)) + 1 + np.arange(len(between)))
        return np.unique(kind, return_inverse=True)[1].reshape(-1).astype(np.uint32)

    def capacity_bps(self, settings: FlowSettings) -> NDArray[np.float64]:
        """Return what each link carries of payload."""
        rate_bps = self.link_rate_bps
        between = rate_bps * settings.wire_share * settings.path_share
        edge_bps = np.minimum(rate_bps, settings.host_rate_bps)
        edge_bps = edge_bps * settings.wire_share * settings.nic_share
        inside = rate_bps * settings.scale_up_share
        kinds = [self.is_scale_up, self.is_edge, self.is_host]
        return np.select(kinds, [inside, edge_bps, rate_bps], between)


def ground(network: Fabric | PacketTopology) -> Ground:
    """Return *network* ready to route on; links that are not up are left out."""
    return _of_fabric(network) if isinstance(network, Fabric) else _of_wiring(network)


def _of_fabric(fabric: Fabric) -> Ground:
    kind = fabric.vertex_kind
    ends = np.sort(np.stack([kind[fabric.link_source], kind[fabric.link_target]]), axis=0)
    joins_nic = (ends == VertexKind.NIC).any(axis=0)
    is_host = joins_nic & (ends[0] == VertexKind.GPU)
    is_edge = joins_nic & (ends[1] == VertexKind.SWITCH)
    return Ground(
        routes=tables(fabric),
        num_endpoints=int(np.count_nonzero(kind == VertexKind.GPU)),
        link_rate_bps=fabric.link_rate_bps / fabric.link_slowdown,
        link_target=fabric.link_target,
        is_scale_up=~joins_nic & (ends[1] != VertexKind.SWITCH),
        is_edge=is_edge,
        is_host=is_host,
        is_switch=kind == VertexKind.SWITCH,
        link_delay_ps=np.zeros(fabric.num_links, dtype=np.int64),
    )


def _of_wiring(wiring: PacketTopology) -> Ground:
    is_switch = np.arange(wiring.num_vertices) >= wiring.num_endpoints
    is_switch[wiring.link_target[wiring.link_scale_up]] = False
    at_end = ~is_switch[wiring.link_source] | ~is_switch[wiring.link_target]
    return Ground(
        routes=wiring,
        num_endpoints=wiring.num_endpoints,
        link_rate_bps=wiring.link_rate_bps,
        link_target=wiring.link_target,
        is_scale_up=wiring.link_scale_up,
        is_edge=at_end & ~wiring.link_scale_up,
        is_host=np.zeros(wiring.num_links, dtype=np.bool_),
        is_switch=is_switch,
        link_delay_ps=wiring.link_delay_ps + wiring.forward_ps[wiring.link_target],
    )


def ways_of(on: Ground, flows: Flows, settings: FlowSettings) -> FlowPaths:
    """Return the way of each flow.

    Raises:
        SpecError: A flow does not join two different endpoints.
        InfeasibleError: Two endpoints have no path left, or the ways do not fit in memory.
    """
    if settings.balance == "flowlet":
        return _flowlets(on, flows, settings)
    if isinstance(on.routes, RoutingTables):
        if settings.splits:
            return split_ways(on.routes, flows, kind=on.link_kind(), pxn=settings.pxn)
        return _fabric_ways(on.routes, flows, settings)
    if settings.splits:
        return split_wired_ways(on.routes, flows, kind=on.link_kind())
    return wired_ways(on.routes, flows, settings)


def _fabric_ways(known: RoutingTables, flows: Flows, settings: FlowSettings) -> FlowPaths:
    if settings.balance == "static":
        paths = dmodk.paths(known, flows, pxn=settings.pxn)
    else:
        paths = ecmp.paths(known, flows, seeds=settings.hash_seeds, pxn=settings.pxn)
    return FlowPaths(offsets=paths.offsets, links=paths.links, shares=np.empty(0, dtype=np.float32))


def _flowlets(on: Ground, flows: Flows, settings: FlowSettings) -> FlowPaths:
    """Hash every burst of a flow; each carries an equal share of it."""
    count = settings.flowlets
    bursts = Flows(
        source=np.repeat(flows.source, count),
        target=np.repeat(flows.target, count),
        source_port=mixed_ports(
            np.repeat(flows.source_port, count), np.tile(np.arange(count), len(flows)), seed=0
        ),
    )
    ways = ways_of(on, bursts, replace(settings, balance="ecmp"))
    shares = np.full(len(ways.links), 1 / count, dtype=np.float32)
    return FlowPaths(offsets=ways.offsets[::count], links=ways.links, shares=shares)


def way_delay_ps(on: Ground, ways: FlowPaths) -> NDArray[np.int64]:
    """Return what the links of each way delay together; on a split one, in the mean."""
    delay_ps = on.link_delay_ps[ways.links] * ways.crossing()
    return np.rint(ways.total(delay_ps)).astype(np.int64)


def num_switches(on: Ground, ways: FlowPaths) -> NDArray[np.int64]:
    """Return how many scale-out switches lie on each way; on a split one, of its longest path.

    A split way crosses as many switches as the shares of the links that lead to one add up to,
    since its paths are equally long.
    """
    enters = on.is_switch[on.link_target[ways.links]] * ways.crossing()
    return np.rint(ways.total(enters)).astype(np.int64)
