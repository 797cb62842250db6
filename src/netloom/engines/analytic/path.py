"""From one node to another over the scale-out network: how fast, how late, and why.

Rings, trees and all-to-alls put different shares of their traffic through the upper tiers.
This module works out that share from the design's reaches and the group's placement, and from
it the flows that meet on a switch's uplinks, the slowdown of the slowest of them, and what is
left of a NIC after headers, retransmission and the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from netloom.engines.analytic.profile import nic_share
from netloom.fabric import contention
from netloom.fabric.wire import framing, latency, recovery
from netloom.provenance import Why

if TYPE_CHECKING:
    from netloom.fabric.design import Reach
    from netloom.fabric.network import Network
    from netloom.workload.collective import Group

__all__ = ["Path", "Pattern", "scale_out"]

Pattern = Literal["ring", "tree", "all-to-all", "pair"]

# Queue pairs of a GPU in an all-to-all of 128, on average: Gangidi et al., RDMA over Ethernet for
# distributed AI training at Meta scale, SIGCOMM 2024 (a secondary account of it).
ALL_TO_ALL_FLOWS = 15
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
        below: What is in reach without it.
        share: Of the hops between member nodes, those that go through the tier.
    """

    reach: Reach
    below: Reach
    share: float


def scale_out(network: Network, group: Group, pattern: Pattern) -> Path:
    """Return what the scale-out network gives *group* for traffic of *pattern*."""
    technology = network.technology
    num_nics = _usable_nics(network, group)
    crossings = _crossings(network, group, pattern)
    slowdown = max((_slowdown(network, group, c, pattern) for c in crossings), default=1.0)
    farthest = crossings[-1].reach if crossings else network.design.reaches[0]
    latency_s = latency.one_way_s(
        technology,
        num_hops=farthest.num_hops,
        cable_m=_CABLE_M * (farthest.num_hops + 1),
        message_bytes=8.0,
        rate_bps=network.nic_rate_bps,
    )
    headers = framing.efficiency(technology.payload_bytes, technology.header_bytes)
    resent = recovery.efficiency(
        technology, loss=network.loss, num_links=farthest.num_hops + 1, rtt_s=2 * latency_s
    )
    nic_bps = _nic_bps(network)
    reached = nic_share(network.nic.name)
    share = headers * reached.value * resent
    rate_bps = min(num_nics * nic_bps * share, _host_bps(network, group)) / slowdown
    parts = (
        network.nic.why("rate_bps", unit="bit/s"),
        technology.why("rate_bps", unit="bit/s"),
        Why(name="NICs the ranks of a node can use", value=num_nics),
        Why(name="share left by headers", value=headers, how="payload / (payload + headers)"),
        reached.why(),
        Why(name="share left by retransmission", value=resent),
        _slowdown_why(crossings, slowdown),
        network.node.why("host_rate_bps", unit="bit/s"),
    )
    return Path(
        rate_bps=rate_bps,
        latency_s=latency_s,
        num_hops=farthest.num_hops,
        slowdown=slowdown,
        num_nics=num_nics,
        why=Why(
            name="rate of a node's ranks between nodes",
            value=rate_bps,
            unit="bit/s",
            how="min(NICs x NIC rate x shares, ranks x host rate) / slowdown of the slowest hop",
            parts=parts,
        ),
    )


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
    return network.nic_rate_bps if host is None else min(network.nic_rate_bps, host)


def _host_bps(network: Network, group: Group) -> float:
    return network.node.host_rate_bps * group.per_node


def _crossings(network: Network, group: Group, pattern: Pattern) -> tuple[Crossing, ...]:
    """Return the tiers above the first that the group's traffic uses, lowest first."""
    found = []
    for below, reach in pairwise(network.design.reaches):
        block = max(1, below.num_nodes // max(1, group.node_stride))
        elsewhere = 1 - (below.num_nodes - 1) / max(1, network.design.num_nodes - 1)
        share = _share_beyond(group, pattern, block, elsewhere=elsewhere)
        if share > 0:
            found.append(Crossing(reach=reach, below=below, share=share))
    return tuple(found)


def _share_beyond(group: Group, pattern: Pattern, block: int, *, elsewhere: float) -> float:
    """Return the share of hops that leave a block of *block* member nodes.

    A displaced node makes the hop to it and the hop from it leave, unless the place it stands
    in happens to be in the block: *elsewhere* is the chance that it is not.
    """
    displaced = min(1.0, 2 * group.displaced) * max(0.0, elsewhere)
    if group.num_nodes <= block:
        return displaced if group.num_nodes > 1 else 0.0
    packed = {
        "ring": 1 / block,
        "tree": min(1.0, 2 / block),
        "all-to-all": (group.num_nodes - block) / (group.num_nodes - 1),
        "pair": 1 / block,
    }[pattern]
    return packed + (1 - packed) * displaced


def _slowdown(network: Network, group: Group, crossing: Crossing, pattern: Pattern) -> float:
    """Return by how much the slowest flow through a tier is slowed.

    At a height where host bandwidth exceeds what is there by the taper, a switch with m uplinks
    has m x taper NICs below it; those that are busy and cross send their flows up.
    """
    technology, reach = network.technology, crossing.reach
    busy = min(1.0, group.active_per_node / network.node.num_nics)
    load = reach.taper * busy * crossing.share
    flows_per_nic = _flows_per_nic(network, pattern)
    num_links = max(1, reach.num_links)
    is_shift = group.displaced == 0
    contended = contention.slowdown(
        load_balancing=contention.balancing_for(technology.load_balancing, is_shift=is_shift),
        path_efficiency=technology.path_efficiency,
        num_flows=num_links * load * flows_per_nic,
        num_links=num_links,
        num_switches=_switches_crossed(network, group, crossing),
        flow_share=1 / flows_per_nic,
    )
    return max(1.0, contended, load)


def _flows_per_nic(network: Network, pattern: Pattern) -> int:
    """Return the five-tuples a NIC's traffic is spread over; an all-to-all has many partners."""
    flows = network.technology.flows_per_rank
    return max(flows, ALL_TO_ALL_FLOWS) if pattern == "all-to-all" else flows


def _switches_crossed(network: Network, group: Group, crossing: Crossing) -> int:
    """Return the switches at which flows of this group choose an uplink, all rails together.

    The group waits for the slowest of them: that is how the tail grows with its size.
    """
    span = group.num_nodes * group.node_stride / crossing.below.num_nodes
    elsewhere = group.num_nodes * group.displaced
    blocks = math.ceil(span + elsewhere) * max(1, network.design.num_rails)
    return max(1, min(blocks, crossing.reach.num_switches))


def _slowdown_why(crossings: tuple[Crossing, ...], slowdown: float) -> Why:
    parts = tuple(
        Why(name=f"share of hops through the {crossing.reach.tier} tier", value=crossing.share)
        for crossing in crossings
    )
    how = "the slowest of the flows that meet on a switch's uplinks, and tapering"
    return Why(name="slowdown of the slowest hop", value=slowdown, how=how, parts=parts)
