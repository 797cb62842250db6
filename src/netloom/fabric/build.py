"""Build a network as arrays: GPUs, NIC ports, scale-up switches, switches and their cables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import Fabric, LinkState, VertexKind
from netloom.fabric.scale_up import LocalCable, scale_up_graph
from netloom.fabric.topologies.entry import topology_entry
from netloom.fabric.topologies.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from netloom.fabric.design import Design
    from netloom.fabric.scale_up import ScaleUpGraph
    from netloom.fabric.topologies.wiring import SwitchCables
    from netloom.parts.parts import Node, ScaleUp

__all__ = ["build"]

# Lower ends, upper ends and rates of some cables.
_Cables = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.float64] | float"]


def build(design: Design, node: Node, scale_up: ScaleUp) -> Fabric:
    """Return the network that *design* plans, with *node* and its *scale_up* under it.

    Cables come in this order: scale-up, GPU to NIC port, NIC port to switch, then switch to
    switch from the hosts up. Equal inputs give equal arrays.

    Args:
        design: From :func:`netloom.fabric.size.design`, for the same *node*.
        node: The machine; GPU g of it uses NIC ``g * num_nics // num_gpus``, or, where it has
            more NICs than GPUs, all those that belong to it in the same proportion.
        scale_up: What joins the GPUs of one machine.

    Raises:
        CatalogError: the scale-up network does not fit the node.
    """
    assert design.num_ports == design.num_nodes * node.num_nics * design.num_planes, design
    local = scale_up_graph(node, scale_up)
    wiring = topology_entry(design.topology).wire(Request.of_design(design), design.topology)
    _check(design, wiring)
    first_nic = design.num_gpus
    first_local = first_nic + design.num_ports
    first_switch = first_local + design.num_nodes * local.num_switches
    ports = np.arange(first_nic, first_local, dtype=np.int32)
    cables: list[_Cables] = [
        _local_cables(design, node, local, first_local),
        _nic_cables(design, node),
        (ports, wiring.port_switch + np.int32(first_switch), design.port_rate_bps),
        (
            wiring.lower + np.int32(first_switch),
            wiring.upper + np.int32(first_switch),
            wiring.rate_bps,
        ),
    ]
    return Fabric(design=design, **_vertices(design, node, local, wiring), **_links(cables))


def _check(design: Design, wiring: SwitchCables) -> None:
    """Hold the builder to the plan: what was sized and costed is what is built."""
    built = np.bincount(wiring.switch_tier, minlength=len(design.tiers) + 1)[1:]
    assert built.tolist() == [tier.num_switches for tier in design.tiers], design.tiers
    planned = sum(stage.num_cables for stage in design.stages[1:])
    assert len(wiring.lower) == len(wiring.upper) == planned, design.stages
    assert len(wiring.port_switch) == design.num_ports, design.num_ports


def _repeat(
    design: Design, ends: Sequence[int], *, split: int, strides: tuple[int, int], first: int
) -> NDArray[np.int32]:
    """Number the local *ends* of every node: below *split* they are GPUs."""
    node = np.arange(design.num_nodes, dtype=np.int32)[:, None]
    end = np.array(ends, dtype=np.int32)[None, :]
    gpu = node * np.int32(strides[0]) + end
    other = np.int32(first - split) + node * np.int32(strides[1]) + end
    return np.where(end < split, gpu, other).ravel()


def _repeated(
    design: Design, cables: Sequence[LocalCable], *, num_gpus: int, num_others: int, first: int
) -> _Cables:
    """Lay the local *cables* in every node; the ends that are no GPUs count from *first*."""
    strides = (num_gpus, num_others)
    lower, upper = (
        _repeat(design, ends, split=num_gpus, strides=strides, first=first)
        for ends in ([cable.lower for cable in cables], [cable.upper for cable in cables])
    )
    rates = np.array([cable.rate_bps for cable in cables], dtype=np.float64)
    return lower, upper, np.tile(rates, design.num_nodes)


def _local_cables(design: Design, node: Node, local: ScaleUpGraph, first: int) -> _Cables:
    return _repeated(
        design, local.cables, num_gpus=node.num_gpus, num_others=local.num_switches, first=first
    )


def _nic_cables(design: Design, node: Node) -> _Cables:
    """Join each NIC port to its GPU; the planes of a NIC share its host link evenly."""
    more = max(node.num_gpus, node.num_nics)
    cables = [
        LocalCable(
            lower=turn * node.num_gpus // more,
            upper=node.num_gpus + turn * node.num_nics // more * design.num_planes + plane,
            rate_bps=node.host_rate_bps / design.num_planes,
        )
        for turn in range(more)
        for plane in range(design.num_planes)
    ]
    return _repeated(
        design,
        cables,
        num_gpus=node.num_gpus,
        num_others=node.num_nics * design.num_planes,
        first=design.num_gpus,
    )


def _vertices(
    design: Design, node: Node, local: ScaleUpGraph, wiring: SwitchCables
) -> dict[str, Any]:
    counts = [
        design.num_gpus,
        design.num_ports,
        design.num_nodes * local.num_switches,
        len(wiring.switch_tier),
    ]
    num_hosts = sum(counts[:3])
    nodes = np.arange(design.num_nodes, dtype=np.int32)
    per_node = (node.num_gpus, node.num_nics * design.num_planes, local.num_switches)
    plane = np.tile(np.arange(design.num_planes, dtype=np.int16), design.num_nodes * node.num_nics)
    return _frozen(
        vertex_kind=np.repeat(np.array(list(VertexKind), np.uint8), counts),
        vertex_tier=np.concatenate([np.zeros(num_hosts, np.int8), wiring.switch_tier]),
        vertex_node=np.concatenate(
            [*(np.repeat(nodes, count) for count in per_node), np.full(counts[3], -1, np.int32)]
        ),
        vertex_plane=np.concatenate(
            [
                np.zeros(counts[0], np.int16),
                plane,
                np.zeros(counts[2], np.int16),
                wiring.switch_plane,
            ]
        ),
        vertex_rail=np.concatenate(
            [
                np.full(counts[0], -1, np.int16),
                _port_rails(design, node),
                np.full(counts[2], -1, np.int16),
                wiring.switch_rail,
            ]
        ),
    )


def _port_rails(design: Design, node: Node) -> NDArray[np.int16]:
    if design.num_rails == 1:
        return np.full(design.num_ports, -1, np.int16)
    rail = np.arange(node.num_nics, dtype=np.int16) % np.int16(design.num_rails)
    rails = np.repeat(rail, design.num_planes)
    return np.tile(rails, design.num_nodes)


def _links(cables: Sequence[_Cables]) -> dict[str, Any]:
    """Turn cables into links: cable c is link 2c up and link 2c + 1 back."""
    num_links = 2 * sum(len(lower) for lower, _, _ in cables)
    source, target = np.empty(num_links, np.int32), np.empty(num_links, np.int32)
    rate_bps = np.empty(num_links, np.float64)
    start = 0
    for lower, upper, rates_bps in cables:
        end = start + 2 * len(lower)
        source[start:end:2], target[start:end:2] = lower, upper
        source[start + 1 : end : 2], target[start + 1 : end : 2] = upper, lower
        rate_bps[start:end:2] = rate_bps[start + 1 : end : 2] = rates_bps
        start = end
    return _frozen(
        link_source=source,
        link_target=target,
        link_rate_bps=rate_bps,
        link_slowdown=np.ones(num_links, np.float32),
        link_state=np.full(num_links, LinkState.UP, np.uint8),
    )


def _frozen(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    for array in arrays.values():
        array.flags.writeable = False
    return arrays
