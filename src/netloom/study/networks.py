"""From a scenario to the network it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import InfeasibleError, SpecError, at
from netloom.fabric.network import Network
from netloom.fabric.size import design
from netloom.fabric.topologies.entry import topology_entry
from netloom.provenance import Validity
from netloom.spec.scenario import MAX_GPUS

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node, Switch, Technology
    from netloom.spec.scenario import Cluster, FabricSpec

__all__ = [
    "addressing",
    "check_num_gpus",
    "is_addressable",
    "network_of",
    "node_of",
    "num_nodes_of",
    "used_part",
]


def node_of(cluster: Cluster, catalog: Catalog) -> Node:
    """Return the node of *cluster*, with the GPUs of it that are used and their share of its NICs.

    Price and power stay those of the whole node.
    """
    with at("cluster.node"):
        node = catalog.node(cluster.node)
    return used_part(
        node, cluster.gpus_per_node or min(cluster.gpus or node.num_gpus, node.num_gpus)
    )


def used_part(node: Node, used: int) -> Node:
    """Return *node* with *used* of its GPUs and their share of its NICs.

    Raises:
        SpecError: it has fewer GPUs.
    """
    if used > node.num_gpus:
        raise SpecError(
            key="cluster.gpus_per_node",
            what=f"{used} of the {node.num_gpus} GPUs of {node.name}",
            remedy=f"use at most {node.num_gpus}",
        )
    if used == node.num_gpus:
        return node
    num_nics = max(1, round(node.num_nics * used / node.num_gpus))
    num_hosts = -(-node.num_hosts * used // node.num_gpus)
    return node.model_copy(update={"num_gpus": used, "num_nics": num_nics, "num_hosts": num_hosts})


def num_nodes_of(cluster: Cluster, node: Node) -> int:
    """Return the machines of *cluster*, whichever way its size was written."""
    if cluster.nodes is not None:
        check_num_gpus(cluster.nodes, node)
        return cluster.nodes
    assert cluster.gpus is not None  # the scenario has exactly one of the two
    num_nodes, left_over = divmod(cluster.gpus, node.num_gpus)
    if left_over:
        near = max(1, num_nodes) * node.num_gpus
        part = _largest_share(cluster.gpus, node.num_gpus)
        raise SpecError(
            key="cluster.gpus",
            what=f"{cluster.gpus} GPUs do not fill nodes of {node.num_gpus} ({node.name})",
            remedy=f"use a multiple, such as {near}, or 'gpus_per_node: {part}' of each",
        )
    return num_nodes


def _largest_share(num_gpus: int, per_node: int) -> int:
    """Return the most GPUs a node that *num_gpus* can be made of."""
    return max(part for part in range(1, per_node + 1) if num_gpus % part == 0)


def check_num_gpus(num_nodes: int, node: Node) -> None:
    """Raise SpecError when *num_nodes* of *node* have more GPUs than anybody builds."""
    num_gpus = num_nodes * node.num_gpus
    if num_gpus > MAX_GPUS:
        raise SpecError(
            key="cluster.nodes",
            what=f"{num_nodes:,} x {node.name} are {num_gpus:,} GPUs",
            remedy=f"netloom goes to {MAX_GPUS:,}, {MAX_GPUS // node.num_gpus:,} such nodes",
        )


def network_of(
    cluster: Cluster, catalog: Catalog, *, technology: str = "", num_nodes: int = 0
) -> Network:
    """Return the network of *cluster*.

    Args:
        cluster: What was asked for.
        catalog: The parts to build it from.
        technology: Instead of the cluster's own; it then brings its own switch too.
        num_nodes: Instead of the cluster's own.
    """
    node = node_of(cluster, catalog)
    with at("compare" if technology else "cluster.fabric.technology"):
        chosen = catalog.technology(technology or cluster.fabric.technology)
    nic = catalog.nic(chosen.nic)
    rate_bps = min(nic.rate_bps, chosen.rate_bps)
    switch = _switch(cluster.fabric, chosen, catalog)
    num_nodes = num_nodes or num_nodes_of(cluster, node)
    with at("cluster.fabric.topology"):
        planned = design(
            topology=cluster.fabric.topology,
            num_nodes=num_nodes,
            node=node,
            switch=switch,
            nic_rate_bps=rate_bps,
        )
    return Network(
        technology=chosen,
        design=planned,
        node=node,
        gpu=catalog.gpu(node.gpu),
        nic=nic,
        scale_up=catalog.scale_up(node.scale_up),
        loss=chosen.loss if cluster.fabric.loss is None else cluster.fabric.loss,
        in_network_reduction=(cluster.fabric.in_network_reduction and chosen.in_network_reduction),
        net=_net(cluster, chosen),
        gpudirect=cluster.nccl.gpudirect is not False,
    )


_VERBS = frozenset({"ib-rc", "rocev1-rc", "rocev2-rc", "iwarp", "uet", "mrc"})
# The transports that each plugin runs over; sockets run over all.
_CARRIED = {
    "ib": _VERBS,
    "ofi": frozenset({"srd", "cxi"}),
    "tcpx": frozenset({"tcp"}),
    "tcpxo": frozenset({"tcp"}),
}


def _net(cluster: Cluster, technology: Technology) -> str:
    """Return the library's plugin that the user named, where it runs over *technology*."""
    net = cluster.nccl.net
    if net is None or technology.transport in _CARRIED.get(net, {technology.transport}):
        return net or ""
    if technology.name == cluster.fabric.technology:
        fitting = [name for name, over in _CARRIED.items() if technology.transport in over]
        raise SpecError(
            key="cluster.nccl.net",
            what=f"{net} does not run over {technology.name}",
            remedy=f"use {' or '.join((*fitting, 'sockets'))}, or leave it out",
        )
    return ""  # a technology that is compared with it has its own


def _switch(fabric: FabricSpec, technology: Technology, catalog: Catalog) -> Switch:
    """Return the switch the user named, where it speaks the technology's protocol."""
    if fabric.switch is None:
        return catalog.switch(technology.switch)
    with at("cluster.fabric.switch"):
        switch = catalog.switch(fabric.switch)
    if switch.protocol == technology.protocol:
        return switch
    if technology.name == fabric.technology:
        raise InfeasibleError(
            key="cluster.fabric.switch",
            what=(
                f"{switch.name} speaks {switch.protocol}, but {technology.name} needs "
                f"{technology.protocol}"
            ),
            remedy=f"leave it out to get {technology.switch}",
        )
    return catalog.switch(technology.switch)


def is_addressable(network: Network) -> bool:
    """Return whether the technology's control plane can name every port of one network."""
    limit = network.technology.max_endpoints
    return not limit or _ports_together(network) <= limit


def addressing(network: Network) -> Validity:
    """Return a doubt where one control plane cannot name every port."""
    if is_addressable(network):
        return Validity()
    doubt = (
        f"{network.technology.name} names {network.technology.max_endpoints:,} ports a subnet; "
        f"here {_ports_together(network):,} are joined, which takes several with routers between."
    )
    return Validity((doubt,))


def _ports_together(network: Network) -> int:
    """Return the NIC ports that one control plane serves; planes and lone rails have their own."""
    design = network.design
    apart = design.num_planes
    if topology_entry(design.topology).has_rails_apart:
        apart *= design.num_rails
    return -(-design.num_ports // apart)
