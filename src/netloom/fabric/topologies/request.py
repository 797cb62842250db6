"""What a sizing rule is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.fabric.design import Design
    from netloom.parts.parts import Node, Switch
    from netloom.spec.topology import Topology

__all__ = ["Request", "hosts_wired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A cluster that wants a network.

    A rack of several computers is wired like that many machines of its share of the NICs.

    Attributes:
        num_nics: NICs of one node.
        num_gpus: GPUs of all nodes.
        nic_rate_bps: Of one NIC, all its planes together.
    """

    topology: Topology
    num_nodes: int
    num_nics: int
    num_gpus: int
    switch: Switch
    nic_rate_bps: float

    @classmethod
    def of(
        cls,
        node: Node,
        *,
        num_nodes: int,
        topology: Topology,
        switch: Switch,
        nic_rate_bps: float,
    ) -> Request:
        """Return what *num_nodes* of *node* ask for, computer by computer."""
        hosts = hosts_wired(node)
        return cls(
            topology=topology,
            num_nodes=num_nodes * hosts,
            num_nics=node.num_nics // hosts,
            num_gpus=num_nodes * node.num_gpus,
            switch=switch,
            nic_rate_bps=nic_rate_bps,
        )

    @classmethod
    def of_design(cls, design: Design) -> Request:
        """Return the request that *design* answers, for the builder."""
        num_hosts = design.num_nodes * design.hosts_per_node
        return cls(
            topology=design.topology,
            num_nodes=num_hosts,
            num_nics=design.num_ports // (num_hosts * design.num_planes),
            num_gpus=design.num_gpus,
            switch=design.switch,
            nic_rate_bps=design.port_rate_bps * design.num_planes,
        )


def hosts_wired(node: Node) -> int:
    """Return the computers of a node that are wired one by one: all, if each has as many NICs."""
    return node.num_hosts if node.num_nics % node.num_hosts == 0 else 1
