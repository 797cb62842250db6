"""The wiring of a built fabric: what the packet engine runs on.

A GPU and its NICs are one endpoint: the way from the GPU to its NIC port and the port's cable
become one link, as fast as the slower of the two carries payload. A NIC that several GPUs share
stays a vertex of its own, or they would not share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netloom.fabric.cost.layout import lay_out, nodes_per_rack
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names
from netloom.fabric.routing.candidates import tables
from netloom.fabric.wire.framing import efficiency
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.fabric.wiring.nexthops import Attachments, check_size, next_hops
from netloom.fabric.wiring.renumbered import Renumbered
from netloom.fabric.wiring.scale_up import add_scale_up
from netloom.fabric.wiring.wiring import PacketTopology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.wiring.nexthops import NextHops
    from netloom.spec.scenario import Floor

__all__ = ["wiring_of"]

_PS = 1e12


def wiring_of(fabric: Fabric, network: Network, floor: Floor, *, scale_up: bool) -> PacketTopology:
    """Return *fabric*, built from *network*'s design, as endpoints, switches, links and routes.

    Links that are down or drained are there, but no route takes them. Every cable of a stage has
    the stage's mean length on *floor*. What a GPU cannot reach (another rail of a rail-only
    network) has no next link. GPUs do not forward: where the scale-up network joins two GPUs
    only through a third, they talk through their NICs.

    Args:
        fabric: As built, with whatever failed.
        network: Gives the technology's forwarding latency and that of the scale-up network.
        floor: The machine room.
        scale_up: Whether the scale-up networks are part of it. Routes inside nodes need a goal
            for each GPU, so leave it out when no transfer stays inside one.

    Raises:
        InfeasibleError: the routes would not fit in memory.
    """
    known = tables(fabric)
    kept = _kept(known, scale_up=scale_up)
    hops = _outside(known, kept)
    if scale_up:
        check_size(kept.num_vertices, len(hops.goal))
        hops = add_scale_up(known, hops, new_vertex=kept.new_vertex, new_link=kept.new_link)
    offsets, links = hops.sets.table()
    names = vertex_names(fabric)
    return PacketTopology(
        num_endpoints=fabric.design.num_gpus,
        name=tuple(names[vertex] for vertex in kept.vertices.tolist()),
        **_links(fabric, network, floor, kept),
        forward_ps=_forwarding(fabric, network, kept),
        goal=hops.goal,
        choices=hops.choices,
        offsets=offsets,
        links=links,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """What of a fabric becomes part of its wiring.

    Attributes:
        vertices: Fabric vertices in their new order: GPUs, scale-up switches, shared NICs,
            switches.
        new_vertex: The new number of each fabric vertex; a folded NIC port has its GPU's.
        links: Fabric links in their new order.
        new_link: The new number of each fabric link; -1 for those left out.
        door: For each folded NIC port the link from its GPU; -1 for others.
        first_switch: Where the switches begin, in new numbers.
    """

    vertices: NDArray[np.int64]
    new_vertex: NDArray[np.int64]
    links: NDArray[np.int64]
    new_link: NDArray[np.int32]
    door: NDArray[np.int64]
    first_switch: int

    @property
    def num_vertices(self) -> int:
        return len(self.vertices)


def _kept(known: RoutingTables, *, scale_up: bool) -> _Kept:
    fabric = known.fabric
    kind = fabric.vertex_kind
    source, target = kind[fabric.link_source], kind[fabric.link_target]
    doors = np.flatnonzero((source == VertexKind.GPU) & (target == VertexKind.NIC))
    users = np.bincount(fabric.link_target[doors], minlength=fabric.num_vertices)
    door = np.full(fabric.num_vertices, -1, dtype=np.int64)
    alone = doors[users[fabric.link_target[doors]] == 1]
    door[fabric.link_target[alone]] = alone
    shared = np.flatnonzero(users > 1)
    inside = (kind == VertexKind.SCALE_UP) & scale_up
    groups = [kind == VertexKind.GPU, inside, users > 1, kind == VertexKind.SWITCH]
    vertices = np.concatenate([np.flatnonzero(group) for group in groups])
    new_vertex = np.full(fabric.num_vertices, -1, dtype=np.int64)
    new_vertex[vertices] = np.arange(len(vertices))
    folded = np.flatnonzero(door >= 0)
    new_vertex[folded] = fabric.link_source[door[folded]]
    ends = new_vertex[fabric.link_source], new_vertex[fabric.link_target]
    local = (source <= VertexKind.SCALE_UP) & (target <= VertexKind.SCALE_UP)
    local &= (source != VertexKind.NIC) & (target != VertexKind.NIC)
    links = np.flatnonzero((ends[0] >= 0) & (ends[1] >= 0) & (ends[0] != ends[1]))
    links = links[~local[links] | scale_up]
    new_link = np.full(fabric.num_links, -1, dtype=np.int32)
    new_link[links] = np.arange(len(links), dtype=np.int32)
    return _Kept(
        vertices=vertices,
        new_vertex=new_vertex,
        links=links,
        new_link=new_link,
        door=door,
        first_switch=int(np.count_nonzero(groups[0]) + np.count_nonzero(inside) + len(shared)),
    )


def _outside(known: RoutingTables, kept: _Kept) -> NextHops:
    """Return the next links on the scale-out network."""
    fabric = known.fabric
    router = Renumbered(
        router=known.between,
        old_vertex=kept.vertices,
        new_vertex=kept.new_vertex,
        new_link=kept.new_link,
    )
    return next_hops(
        router,
        _doors(known, kept),
        num_endpoints=fabric.design.num_gpus,
        first_switch=kept.first_switch,
        num_vertices=kept.num_vertices,
        num_links=len(kept.links),
    )


def _doors(known: RoutingTables, kept: _Kept) -> Attachments:
    """Return where the GPUs are plugged in, over cables that are up from the GPU to the switch."""
    fabric, near = known.fabric, known.near
    out = np.sort(near.doors.links).astype(np.int64)
    port = fabric.link_target[out].astype(np.int64)
    plugged = near.edge[port] >= 0
    out, port = out[plugged], port[plugged]
    endpoint = fabric.link_source[out].astype(np.int64)
    order = np.argsort(endpoint, kind="stable")
    out, port, endpoint = out[order], port[order], endpoint[order]
    folded = kept.door[port] >= 0
    leaf = kept.new_vertex[near.edge[port]]
    uplink = kept.new_link[near.edge_link[port]]
    return Attachments(
        endpoint=endpoint,
        link=np.where(folded, uplink, kept.new_link[out]),
        edge=np.where(folded, leaf, kept.new_vertex[port]),
        leaf=leaf,
        uplink=np.where(folded, np.int32(-1), uplink),
    )


def _links(fabric: Fabric, network: Network, floor: Floor, kept: _Kept) -> dict[str, NDArray[Any]]:
    links = kept.links
    rate_bps = fabric.link_rate_bps / fabric.link_slowdown
    port = np.minimum(fabric.link_source[links], fabric.link_target[links])
    door = kept.door[port]
    # A GPU hands its NIC payload; what the wire adds to it is not in the way.
    technology = network.technology
    share = efficiency(technology.payload_bytes, technology.header_bytes)
    handed_bps = np.minimum(rate_bps[door], rate_bps[door ^ 1]) / share
    limit_bps = np.where(door >= 0, handed_bps, np.inf)
    kind = fabric.vertex_kind
    scale_out = (kind[fabric.link_source] == VertexKind.SWITCH) | (
        kind[fabric.link_target] == VertexKind.SWITCH
    )
    delay_s = _delays_s(fabric, network, floor)
    return {
        "link_source": kept.new_vertex[fabric.link_source[links]].astype(np.int32),
        "link_target": kept.new_vertex[fabric.link_target[links]].astype(np.int32),
        "link_rate_bps": np.minimum(
            np.minimum(rate_bps, _pulled_bps(fabric, network))[links], limit_bps
        ),
        "link_delay_ps": np.rint(delay_s[links] * _PS).astype(np.int64),
        "link_scale_up": ~scale_out[links],
    }


def _pulled_bps(fabric: Fabric, network: Network) -> NDArray[np.float64]:
    """Return how fast a NIC reads from its GPUs: no faster than its ports send payload.

    On InfiniBand, no faster than its ports: a packet from a slower link could not be cut through,
    and the reading link has no headers to slow it down.
    """
    kind, technology = fabric.vertex_kind, network.technology
    of_nic = kind[fabric.link_source] == VertexKind.NIC
    up = of_nic & (kind[fabric.link_target] == VertexKind.SWITCH)
    sent_bps = np.bincount(
        fabric.link_source[up], fabric.link_rate_bps[up], minlength=fabric.num_vertices
    )
    share = efficiency(technology.payload_bytes, technology.header_bytes)
    payload_bps = sent_bps * (1.0 if technology.protocol == "infiniband" else share)
    reads = (kind[fabric.link_source] == VertexKind.GPU) & (payload_bps[fabric.link_target] > 0)
    return np.where(reads, payload_bps[fabric.link_target], np.inf)


def _delays_s(fabric: Fabric, network: Network, floor: Floor) -> NDArray[np.float64]:
    """Return the propagation of each link: by stage outside, by halves of a hop inside nodes."""
    design = fabric.design
    per_rack = nodes_per_rack(floor, network.node)
    routes = lay_out(design, floor, per_rack=per_rack).routes
    levels = {"node": 0} | {tier.name: number for number, tier in enumerate(design.tiers, start=1)}
    source, target = fabric.link_source, fabric.link_target
    kind = fabric.vertex_kind
    tiers = np.sort(np.stack([fabric.vertex_tier[source], fabric.vertex_tier[target]]), axis=0)
    delay_s = np.zeros(fabric.num_links)
    for route in routes:
        ends = levels[route.stage.lower], levels[route.stage.upper]
        of_stage = (tiers[0] == ends[0]) & (tiers[1] == ends[1])
        delay_s[of_stage] = route.mean_m * PROPAGATION_S_PER_M
    inside = (tiers[1] == 0) & (kind[source] != VertexKind.NIC) & (kind[target] != VertexKind.NIC)
    direct = (kind[source] == VertexKind.GPU) & (kind[target] == VertexKind.GPU)
    half_s = network.scale_up.latency_s / 2
    delay_s[inside] = np.where(direct[inside], 2 * half_s, half_s)
    return delay_s


def _forwarding(fabric: Fabric, network: Network, kept: _Kept) -> NDArray[np.int64]:
    forward_ps = np.zeros(kept.num_vertices, dtype=np.int64)
    is_switch = fabric.vertex_kind[kept.vertices] == VertexKind.SWITCH
    forward_ps[is_switch] = round(network.technology.latency.switch_s * _PS)
    return forward_ps
