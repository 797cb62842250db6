"""From one node to another over the scale-out network: how fast, how late, and why.

Rings, trees and all-to-alls put different shares of their traffic through the upper tiers.
This module works out that share from the design's reaches and the group's placement, and from
it the flows that meet on a switch's uplinks, the slowdown of the slowest of them, and what is
left of a NIC after headers, retransmission and the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.analytic.ways import SOCKET_BPS, way_of
from netloom.fabric import contention
from netloom.fabric.wire import framing, latency, recovery
from netloom.provenance import Why

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.base import Contention, Pattern
    from netloom.fabric.design import Reach
    from netloom.fabric.network import Network
    from netloom.parts.parts import Technology
    from netloom.workload.collective import Group

__all__ = ["Path", "nic_share", "scale_out"]

# Queue pairs of a GPU in an all-to-all of 128, on average: Gangidi et al., RDMA over Ethernet for
# distributed AI training at Meta scale, SIGCOMM 2024 (a secondary account of it).
ALL_TO_ALL_FLOWS = 15
MAX_LAID_OUT = 2_000_000  # nodes laid out one by one to find the worst block
# Cable length per hop; the design does not carry the floor. Assumed: a row of racks.
_CABLE_M = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """What a node of the group gets from the network.

    Attributes:
        rate_bps: Payload that the group's ranks of one node can send together, at the pace of
            the slowest hop.
        latency_s: One way, a small message, to the farthest neighbour.
        num_hops: Switches on that way.
        slowdown: Of the slowest hop, by contention and tapering; 1 or more.
        num_nics: NICs of a node that the group's ranks can use.
        why: How the rate came about.
    """

    rate_bps: float
    latency_s: float
    num_hops: int
    slowdown: float
    num_nics: float
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A tier that a group's traffic goes through.

    Attributes:
        reach: The tier.
        num_switches: Switches of the tier below it, in the whole network.
        packed: Of the hops between member nodes, those that go through the tier when nodes
            stand in order.
        displaced: Those that go through it besides, because nodes stand elsewhere.
    """

    reach: Reach
    num_switches: int
    packed: float
    displaced: float


def scale_out(
    network: Network, group: Group, pattern: Pattern, *, contention: Contention | None = None
) -> Path:
    """Return what the scale-out network gives *group* for traffic of *pattern*.

    Args:
        network: The network.
        group: Who communicates; its siblings do so at the same time.
        pattern: Which member sends to which.
        contention: Says what the flows do to one another; default: the closed form.
    """
    crossings = _crossings(network, group, pattern)
    farthest = crossings[-1].reach if crossings else network.design.reaches[0]
    latency_s = latency.one_way_s(
        network.technology,
        num_hops=farthest.num_hops,
        cable_m=_CABLE_M * (farthest.num_hops + 1),
        message_bytes=8.0,
        rate_bps=network.nic_rate_bps,
    )
    num_nics = _usable_nics(network, group)
    offered = _offered(network, group, num_nics, num_hops=farthest.num_hops, latency_s=latency_s)
    assert isinstance(offered.value, float), offered
    pace = offered.value / (num_nics * network.nic_rate_bps)
    if contention is None:
        slowdown = _slowdown(network, group, pattern, crossings, pace=pace)
    else:
        slowdown = contention.slowdown(network, group, pattern, pace=pace)
    assert isinstance(slowdown.value, float), slowdown
    rate_bps = offered.value / slowdown.value
    return Path(
        rate_bps=rate_bps,
        latency_s=latency_s,
        num_hops=farthest.num_hops,
        slowdown=slowdown.value,
        num_nics=num_nics,
        why=Why(
            name="rate of a node's ranks between nodes",
            value=rate_bps,
            unit="bit/s",
            how="what the node offers / slowdown of the slowest hop",
            parts=(offered, slowdown),
        ),
    )


def _offered(
    network: Network, group: Group, num_nics: float, *, num_hops: int, latency_s: float
) -> Why:
    """Return what the group's ranks of a node can put on the wire, as payload."""
    technology = network.technology
    headers = framing.efficiency(technology.payload_bytes, technology.header_bytes)
    resent = recovery.efficiency(
        technology, loss=network.loss, num_links=num_hops + 1, rtt_s=2 * latency_s
    )
    reached = nic_share(network)
    assert isinstance(reached.value, float), reached
    share = headers * reached.value * resent
    value = min(num_nics * _nic_bps(network) * share, _host_bps(network, group))
    host = (
        () if technology.host_rate_bps is None else (technology.why("host_rate_bps", unit="bit/s"),)
    )
    return Why(
        name="what the ranks of a node offer",
        value=value,
        unit="bit/s",
        how="min(NICs x NIC rate x shares, ranks x host rate)",
        parts=(
            network.nic.why("rate_bps", unit="bit/s"),
            technology.why("rate_bps", unit="bit/s"),
            *host,
            Why(name="NICs the ranks of a node can use", value=num_nics),
            Why(
                name="share left by headers",
                value=headers,
                how="payload / (payload + headers)",
                parts=(
                    technology.why("payload_bytes", unit="B"),
                    technology.why("header_bytes", unit="B"),
                ),
            ),
            reached,
            Why(
                name="share left by retransmission",
                value=resent,
                how=f"packets lost on {num_hops + 1} links, resent as {technology.recovery}",
                parts=(technology.why("loss"),),
            ),
            network.node.why("host_rate_bps", unit="bit/s"),
            *((SOCKET_BPS.why(),) if network.net == "sockets" else ()),
            *(
                ()
                if network.gpudirect
                else (Why(name="crossings of PCIe without GPUDirect", value=2),)
            ),
        ),
    )


def nic_share(network: Network) -> Why:
    """Return what NCCL reaches of a NIC's payload rate: the machine's share, or the plugin's."""
    if network.node.nic_share is not None:
        return network.node.why("nic_share")
    return way_of(network.technology, network.nic.name, network.net).nic_share.why()


def _usable_nics(network: Network, group: Group) -> float:
    """Return the NICs that the group's ranks of one node have to themselves.

    A rank reaches the NICs beside it, and through PXN those of other ranks of its own group;
    siblings that communicate at the same time take theirs.
    """
    node = network.node
    per_rank = node.num_nics / node.num_gpus
    shared = node.num_nics * group.per_node / max(group.active_per_node, group.per_node)
    beside = group.per_node * max(1.0, per_rank)
    return min(shared, beside, float(node.num_nics))


def _nic_bps(network: Network) -> float:
    host = network.technology.host_rate_bps
    if network.net == "sockets":
        host = min(host or SOCKET_BPS.value, SOCKET_BPS.value)
    return network.nic_rate_bps if host is None else min(network.nic_rate_bps, host)


def _host_bps(network: Network, group: Group) -> float:
    """Return what the GPUs' PCIe carries; through host memory each byte crosses it twice."""
    crossings = 1 if network.gpudirect else 2
    return network.node.host_rate_bps * group.per_node / crossings


def _crossings(network: Network, group: Group, pattern: Pattern) -> tuple[Crossing, ...]:
    """Return the tiers above the first that the group's traffic uses, lowest first."""
    design = network.design
    found = []
    for index, (below, reach) in enumerate(pairwise(design.reaches)):
        elsewhere = 1 - (below.num_nodes - 1) / max(1, design.num_nodes - 1)
        packed = _share_beyond(
            group.span_nodes,
            group.node_stride,
            pattern,
            block=below.num_nodes,
            num_nodes=max(design.num_nodes, group.span_nodes),
        )
        displaced = min(1.0, 2 * group.displaced) * max(0.0, elsewhere)
        if group.num_nodes > 1 and packed + displaced > 0:
            found.append(
                Crossing(
                    reach=reach,
                    num_switches=design.tiers[min(index, len(design.tiers) - 1)].num_switches,
                    packed=packed,
                    displaced=(1 - packed) * displaced,
                )
            )
    return tuple(found)


@lru_cache(maxsize=4096)
def _share_beyond(span: int, stride: int, pattern: Pattern, *, block: int, num_nodes: int) -> float:
    """Return the share of hops that leave the worst block of *block* nodes, nodes being packed.

    Groups of *span* nodes are laid end to end over *num_nodes*, each member *stride* nodes from
    the next; where they do not tile the blocks some block holds pieces of several groups.
    """
    if block % span == 0:
        return 0.0
    members = span // stride
    extent = min(math.lcm(span, block), num_nodes)
    if extent > MAX_LAID_OUT:  # so large a group fills whole blocks, all but alike
        inside = max(1, block // stride)
        beyond = (members - inside) / (members - 1) if members > 1 else 0.0
        return max(0.0, beyond) if pattern == "all-to-all" else min(1.0, stride / block)
    node = np.arange(extent)
    leaving = _leaving(node, span, stride, pattern, block=block)
    return float(np.bincount(node // block, leaving).max() / block)


def _leaving(
    node: NDArray[np.int64], span: int, stride: int, pattern: Pattern, *, block: int
) -> NDArray[np.float64]:
    """Return for each node the share of its hops that leave its block."""
    place, members = node % span, span // stride
    if pattern == "all-to-all":
        group = node // span * stride + place % stride
        _, own, inside = np.unique(
            group * (len(node) // block + 1) + node // block,
            return_inverse=True,
            return_counts=True,
        )
        return np.asarray((members - inside[own]) / max(1, members - 1))
    first = node - place + place % stride
    ring_on = np.where(place + stride < span, node + stride, first)
    crosses = (ring_on // block != node // block).astype(float)
    if pattern == "pair":
        crosses[place + stride >= span] = 0.0  # the last stage sends nothing
    return np.asarray(np.minimum(1.0, 2 * crosses)) if pattern == "tree" else crosses


def _slowdown(
    network: Network,
    group: Group,
    pattern: Pattern,
    crossings: tuple[Crossing, ...],
    *,
    pace: float,
) -> Why:
    """Return by how much the slowest flow of all is slowed, and on which tier."""
    tiers = tuple(_tier_slowdown(network, group, c, pattern, pace=pace) for c in crossings)
    slowest = max((float(tier.value) for tier in tiers), default=1.0)
    return Why(
        name="slowdown of the slowest hop",
        value=slowest,
        how="the largest of the tiers crossed" if tiers else "all under one leaf",
        parts=tiers,
    )


def _tier_slowdown(
    network: Network, group: Group, crossing: Crossing, pattern: Pattern, *, pace: float
) -> Why:
    """Return by how much the slowest flow through a tier is slowed.

    At a height where host bandwidth exceeds what is there by the taper, a switch with m uplinks
    has m x taper NICs below it. Those that are busy and cross send their flows up, each at the
    NIC's *pace* divided by its flows. All groups of a job communicate at once and wait for one
    another, so the slowest is that of every switch of the tier.
    """
    technology, reach = network.technology, crossing.reach
    busy = min(1.0, group.active_per_node / network.node.num_nics)
    flows_per_nic = _flows_per_nic(network, pattern)
    num_links = max(1, reach.num_links)
    num_flows = (
        num_links * reach.taper * busy * (crossing.packed + crossing.displaced) * flows_per_nic
    )
    value = _contended(
        technology,
        crossing,
        num_flows=num_flows,
        num_links=num_links,
        flow_share=pace / flows_per_nic,
    )
    return Why(
        name=f"slowdown through the {reach.tier} tier",
        value=value,
        how=f"{technology.load_balancing}: flows of a switch over its uplinks, the fullest of all",
        parts=(
            Why(name="share of hops that cross, packed", value=crossing.packed),
            Why(
                name="share of hops that cross for displaced nodes",
                value=crossing.displaced,
                how=f"{group.displaced:.2%} of nodes displaced: job.placement",
            ),
            Why(name="flows that leave a switch", value=num_flows),
            Why(name="uplinks of a switch", value=num_links),
            Why(name="switches", value=crossing.num_switches),
            Why(name="taper", value=reach.taper),
            Why(name="share of a link that a flow wants", value=pace / flows_per_nic),
            technology.why("flows_per_rank"),
            technology.why("path_efficiency"),
        ),
    )


def _contended(
    technology: Technology,
    crossing: Crossing,
    *,
    num_flows: float,
    num_links: int,
    flow_share: float,
) -> float:
    """Return the slowdown of the slowest of *num_flows* flows on *num_links* links.

    Static routes keep packed neighbours apart (a shift); only what displaced nodes send meets
    them as if it hashed.
    """
    if technology.load_balancing == "static":
        strays = crossing.displaced / (crossing.packed + crossing.displaced)
        hashed = contention.expected_max_load(
            num_flows * strays, num_links, num_switches=crossing.num_switches
        )
        even = num_flows * (1 - strays) / num_links
        return max(1.0, (even + hashed) * flow_share)
    return contention.slowdown(
        load_balancing=technology.load_balancing,
        path_efficiency=technology.path_efficiency,
        num_flows=num_flows,
        num_links=num_links,
        num_switches=crossing.num_switches,
        flow_share=flow_share,
    )


def _flows_per_nic(network: Network, pattern: Pattern) -> int:
    """Return the five-tuples a NIC's traffic is spread over; an all-to-all has many partners."""
    flows = network.technology.flows_per_rank
    return max(flows, ALL_TO_ALL_FLOWS) if pattern == "all-to-all" else flows
