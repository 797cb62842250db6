"""What the loss of one part takes away, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import VertexKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["FaultDomain", "fault_domains"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultDomain:
    """The most that the loss of one part of a kind takes away.

    Attributes:
        part: ``NIC link``, or the name of a tier of switches.
        count: How many there are.
        nodes_hit: Nodes that lose bandwidth.
        nodes_stopped: Of these, nodes one of whose NICs is left without a link.
        node_share: What a node that is hit loses of its scale-out bandwidth.
        uplink_share: For a switch above the leaves, what a switch below it loses of its uplinks.
    """

    part: str
    count: int
    nodes_hit: int
    nodes_stopped: int
    node_share: float
    uplink_share: float


def fault_domains(fabric: Fabric) -> tuple[FaultDomain, ...]:
    """Return what one lost NIC link, leaf and switch of each higher tier takes away."""
    ports = _host_ports(fabric)
    found = [_nic_link(fabric, ports)]
    for level, tier in enumerate(fabric.design.tiers, start=1):
        switches = np.flatnonzero(
            (fabric.vertex_kind == VertexKind.SWITCH) & (fabric.vertex_tier == level)
        )
        if level == 1:
            found.append(_leaf(fabric, ports, tier.name, switches))
        else:
            found.append(_above(fabric, tier.name, switches))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Ports:
    """NIC ports: the node and the leaf of each, and how many a node has."""

    node: NDArray[np.int64]
    leaf: NDArray[np.int64]
    per_node: NDArray[np.int64]


def _host_ports(fabric: Fabric) -> _Ports:
    up = (fabric.vertex_kind[fabric.link_source] == VertexKind.NIC) & (
        fabric.vertex_kind[fabric.link_target] == VertexKind.SWITCH
    )
    nic = fabric.link_source[up].astype(np.int64)
    node = fabric.vertex_node[nic].astype(np.int64)
    leaf = fabric.link_target[up].astype(np.int64)
    return _Ports(node, leaf, np.bincount(node))


def _nic_link(fabric: Fabric, ports: _Ports) -> FaultDomain:
    return FaultDomain(
        part="NIC link",
        count=len(ports.node),
        nodes_hit=1,
        nodes_stopped=int(fabric.design.num_planes == 1),
        node_share=1 / int(ports.per_node[ports.node].min()),
        uplink_share=0.0,
    )


def _leaf(fabric: Fabric, ports: _Ports, name: str, switches: NDArray[np.int64]) -> FaultDomain:
    pair, count = np.unique(np.stack([ports.leaf, ports.node]), axis=1, return_counts=True)
    nodes = np.bincount(pair[0], minlength=fabric.num_vertices)
    hit = int(nodes.max())
    return FaultDomain(
        part=name,
        count=len(switches),
        nodes_hit=hit,
        nodes_stopped=hit if fabric.design.num_planes == 1 else 0,
        node_share=float((count / ports.per_node[pair[1]]).max()),
        uplink_share=0.0,
    )


def _above(fabric: Fabric, name: str, switches: NDArray[np.int64]) -> FaultDomain:
    """Return the domain of a tier over the leaves: cables to one switch over all cables up."""
    level = fabric.vertex_tier[switches[0]]
    up = (fabric.vertex_tier[fabric.link_target] == level) & (
        fabric.vertex_tier[fabric.link_source] == level - 1
    )
    lower = fabric.link_source[up].astype(np.int64)
    upper = fabric.link_target[up].astype(np.int64)
    uplinks = np.bincount(lower, minlength=fabric.num_vertices)
    pair, count = np.unique(np.stack([lower, upper]), axis=1, return_counts=True)
    worst = float((count / uplinks[pair[0]]).max())
    return FaultDomain(
        part=name,
        count=len(switches),
        nodes_hit=0,
        nodes_stopped=0,
        node_share=0.0,
        uplink_share=worst,
    )
