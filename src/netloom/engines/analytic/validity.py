"""Where the analytic engine was compared with measurements, and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.engines.analytic.profile import is_measured
from netloom.fabric.topologies.entry import topology_entry
from netloom.provenance import Validity
from netloom.validated.collectives import (
    checked_between,
    checked_inside,
    max_nodes,
    size_range_bytes,
)

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective

__all__ = ["validity_of"]


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
            *_size_doubts(collective),
            *_inside_doubts(collective, network),
            *_node_doubts(collective),
            *_topology_doubts(collective, network),
            *sharp,
        )
    )


def _size_doubts(collective: Collective) -> tuple[str, ...]:
    smallest, largest = size_range_bytes()
    if collective.size_bytes < smallest:
        least = f"{smallest / 2**20:.0f} MiB"
        return (f"Collectives under {least} were not held to a bound; latency decides them.",)
    if collective.size_bytes > largest:
        most = f"{largest / 2**30:.0f} GiB"
        return (f"No collective over {most} was compared with a measurement.",)
    return ()


def _inside_doubts(collective: Collective, network: Network) -> tuple[str, ...]:
    kind = collective.kind.value
    doubts = []
    if not is_measured(network.gpu.architecture) or kind not in checked_inside(
        network.gpu.architecture
    ):
        doubts.append(f"{kind} was not measured inside a node of {network.gpu.architecture} GPUs.")
    if network.scale_up.kind == "pcie-tree":
        doubts.append("Rings over PCIe rest on another tool's fit for one A100 server.")
    if collective.group.per_node > 8:
        doubts.append("No scale-up domain of more than 8 GPUs was compared with a measurement.")
    return tuple(doubts)


def _topology_doubts(collective: Collective, network: Network) -> tuple[str, ...]:
    if collective.group.num_nodes == 1:
        return ()
    return topology_entry(network.design.topology).doubts


def _node_doubts(collective: Collective) -> tuple[str, ...]:
    group = collective.group
    doubts = []
    if group.num_nodes > 1 and collective.kind.value not in checked_between():
        doubts.append(f"{collective.kind.value} between nodes was not compared with a measurement.")
    if group.num_nodes > max_nodes():
        doubts.append(f"Groups on more than {max_nodes()} nodes were not compared row by row.")
    if group.num_nodes > 1 and group.displaced > 0:
        doubts.append("The cost of displaced nodes follows from the topology and was not measured.")
    return tuple(doubts)
