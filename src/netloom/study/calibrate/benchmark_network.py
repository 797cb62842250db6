"""The network of a cluster of which a benchmark says no more than its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.fabric.design import Design, Reach, Stage, Tier
from netloom.fabric.network import Network
from netloom.fabric.size import design
from netloom.fabric.topologies.dragonfly_plus import DragonflyPlus
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.rail_fat_tree import RailFatTree

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node, Technology

__all__ = ["benchmark_network"]

_FEW_NODES: Final = 16  # that share leaves, or all but


def benchmark_network(
    node: Node, technology: Technology, num_nodes: int, catalog: Catalog
) -> Network:
    """Return *num_nodes* of *node* on *technology*, joined as such clusters are.

    Raises:
        InfeasibleError: the topology cannot join that many nodes.
    """
    return Network(
        technology=technology,
        design=_design(node, technology, num_nodes, catalog),
        node=node,
        gpu=catalog.gpus[node.gpu],
        nic=catalog.nics[node.nic],
        scale_up=catalog.scale_ups[node.scale_up],
        loss=0.0,
    )


def _design(node: Node, technology: Technology, num_nodes: int, catalog: Catalog) -> Design:
    """Return how the nodes are joined: under one switch where they are few.

    Of more it is what such clusters are: groups of a dragonfly for Slingshot, for which the
    dragonfly+ of spines and leaves stands in, and rails of a full fat tree for all others.
    """
    if num_nodes <= _FEW_NODES:
        return _one_switch(node, technology, num_nodes, catalog)
    return design(
        topology=DragonflyPlus() if technology.transport == "cxi" else RailFatTree(),
        num_nodes=num_nodes,
        node=node,
        switch=catalog.switches[technology.switch],
        nic_rate_bps=min(catalog.nics[node.nic].rate_bps, technology.rate_bps),
    )


def _one_switch(node: Node, technology: Technology, num_nodes: int, catalog: Catalog) -> Design:
    """Return a network in which the few nodes of a benchmark share leaves: nothing contends."""
    switch = catalog.switches[technology.switch]
    ports = num_nodes * node.num_nics
    leaf = Tier(name="leaf", num_switches=1, num_down=ports, num_up=0)
    cables = Stage(lower="node", upper="leaf", num_cables=ports, rate_bps=technology.rate_bps)
    reach = Reach(
        tier="leaf",
        num_nodes=num_nodes,
        num_hops=1,
        num_paths=1,
        num_links=0,
        num_switches=1,
        taper=1.0,
    )
    return Design(
        topology=FatTree(),
        num_nodes=num_nodes,
        num_gpus=num_nodes * node.num_gpus,
        num_rails=1,
        num_planes=1,
        num_ports=ports,
        port_rate_bps=technology.rate_bps,
        switch=switch,
        radix=switch.radix(technology.rate_bps),
        tiers=(leaf,),
        stages=(cables,),
        reaches=(reach,),
    )
