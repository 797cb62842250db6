"""Where the analytic engine was compared with measurements, and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.engines.analytic.profile import is_measured
from netloom.fabric.topologies.entry import topology_entry
from netloom.provenance import Validity
from netloom.validated.collectives import CollectivePoint, group_doubt

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective

__all__ = ["collective_point", "validity_of"]


def validity_of(collective: Collective, network: Network, *, algorithm: str) -> Validity:
    """Return the doubts about *collective* run with *algorithm*, one sentence each."""
    reduced = algorithm.startswith("collnet") or algorithm == "nvls"
    sharp: tuple[str, ...] = ()
    if reduced and collective.group.num_nodes > 1:
        sharp = (
            (
                "Reduction in the scale-out switches was not compared with a measurement, and NCCL "
                "uses it only with NCCL_COLLNET_ENABLE=1."
            ),
        )
    return Validity(
        (
            *_measured_doubts(collective, network),
            *_inside_doubts(collective, network),
            *_topology_doubts(collective, network),
            *_way_doubts(collective, network),
            *sharp,
        )
    )


def _measured_doubts(collective: Collective, network: Network) -> tuple[str, ...]:
    """Return why no measured rows near *collective* vouch for it, and which are nearest."""
    doubt = group_doubt(collective_point(collective, network))
    return (doubt,) if doubt else ()


def collective_point(collective: Collective, network: Network) -> CollectivePoint:
    """Return where *collective* on *network* lies among the measured ones."""
    num_nodes = collective.group.num_nodes
    return CollectivePoint(
        collective=collective.kind.value,
        node=network.node.name,
        scale_up=network.scale_up.name,
        family=network.technology.family if num_nodes > 1 else "",
        num_nodes=num_nodes,
        size_bytes=collective.size_bytes,
    )


def _inside_doubts(collective: Collective, network: Network) -> tuple[str, ...]:
    doubts = []
    if not is_measured(network.gpu.architecture):
        doubts.append(f"No collective was measured on {network.gpu.architecture} GPUs.")
    if network.scale_up.kind == "pcie-tree" and collective.group.per_node > 1:
        doubts.append("Rings over PCIe rest on another tool's fit for one A100 server.")
    if collective.group.num_nodes > 1 and collective.group.displaced > 0:
        doubts.append("The cost of displaced nodes follows from the topology and was not measured.")
    return tuple(doubts)


def _way_doubts(collective: Collective, network: Network) -> tuple[str, ...]:
    if collective.group.num_nodes == 1:
        return ()
    doubts = []
    if not network.gpudirect:
        doubts.append("What copying through host memory costs was not measured.")
    if network.net == "sockets" and network.technology.transport != "tcp":
        doubts.append(
            f"Sockets over {network.technology.name} follow from kernel TCP and were not measured."
        )
    return tuple(doubts)


def _topology_doubts(collective: Collective, network: Network) -> tuple[str, ...]:
    if collective.group.num_nodes == 1:
        return ()
    return topology_entry(network.design.topology).doubts
