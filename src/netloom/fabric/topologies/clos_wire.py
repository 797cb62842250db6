"""Lay the cables of a folded Clos."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.topologies.clos import plan_clos
from netloom.fabric.topologies.clos_size import clos_order
from netloom.fabric.topologies.wiring import SwitchCables, shared_leaves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.topologies.clos import Clos
    from netloom.fabric.topologies.clos_size import ClosShape
    from netloom.fabric.topologies.request import Request

__all__ = ["wire_clos"]


def wire_clos(request: Request, shape: ClosShape) -> SwitchCables:
    """Return the cables of the folded Clos of *shape*.

    Equal networks (planes, and rails where they are apart) follow one another in each tier.
    """
    clos = plan_clos(clos_order(request, shape), shape.tiers)
    assert clos is not None, "a design exists, so a plan does"
    ends = [_stage(clos, tier) for tier in range(1, clos.num_tiers)]
    nothing = np.zeros(0, np.int32)
    return SwitchCables(
        port_switch=_port_leaves(request, clos),
        switch_tier=np.repeat(
            np.arange(1, clos.num_tiers + 1, dtype=np.int8),
            [level.num_switches * clos.order.num_networks for level in clos.levels],
        ),
        switch_plane=_switch_planes(request, clos),
        switch_rail=_switch_rails(request, clos),
        lower=np.concatenate([nothing, *(lower for lower, _ in ends)]),
        upper=np.concatenate([nothing, *(upper for _, upper in ends)]),
        rate_bps=clos.order.ports.rate_bps,
    )


def _rails_apart(request: Request, clos: Clos) -> int:
    """Return how many separate networks a plane has."""
    return request.num_nics // clos.order.num_nics


def _port_leaves(request: Request, clos: Clos) -> NDArray[np.int32]:
    num_apart = _rails_apart(request, clos)
    num_planes = clos.order.num_networks // num_apart
    if num_apart > 1:
        leaf, rail = _apart_leaves(request, clos)
    else:
        leaf = _rail_leaves(request, clos) if clos.order.by_rail else _shared(request, clos)
        rail = np.zeros_like(leaf)
    plane = np.arange(num_planes, dtype=np.int32)
    network = plane[None, :] * np.int32(num_apart) + rail[:, None]
    num_leaves = np.int32(clos.levels[0].num_switches)
    return (network * num_leaves + leaf[:, None]).ravel()


def _shared(request: Request, clos: Clos) -> NDArray[np.int32]:
    return shared_leaves(request, clos.leaves.ports_per_leaf)


def _apart_leaves(request: Request, clos: Clos) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    node = np.arange(request.num_nodes, dtype=np.int32)
    rail = np.arange(request.num_nics, dtype=np.int32)
    leaf = np.repeat(node // np.int32(clos.leaves.ports_per_leaf), request.num_nics)
    return leaf, np.tile(rail, request.num_nodes)


def _rail_leaves(request: Request, clos: Clos) -> NDArray[np.int32]:
    unit = np.arange(request.num_nodes, dtype=np.int32) // np.int32(clos.leaves.nodes_per_leaf)
    in_unit = np.arange(request.num_nics, dtype=np.int32) // np.int32(clos.leaves.rails_per_leaf)
    if clos.rails_in_pods:
        return (unit[:, None] + in_unit[None, :] * np.int32(clos.leaves.num_units)).ravel()
    return (unit[:, None] * np.int32(clos.leaves.leaves_per_unit) + in_unit[None, :]).ravel()


def _stage(clos: Clos, tier: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return both ends of the cables from *tier* to the next, over all networks.

    The uplinks of a switch go round its parents: parallel cables are as far apart as can be.
    """
    here, above = clos.levels[tier - 1], clos.levels[tier]
    switch = np.arange(here.num_switches, dtype=np.int32)
    block, position = np.divmod(switch, np.int32(here.num_per_block))
    first_parent = _parent_block(clos, tier, block) * np.int32(above.num_per_block)
    first_parent += position * np.int32(above.num_spread)
    uplink = np.arange(here.num_up, dtype=np.int32) % np.int32(above.num_spread)
    network = np.arange(clos.order.num_networks, dtype=np.int32)[:, None, None]
    below, top = (_first_switch(clos, number) for number in (tier, tier + 1))
    shape = (clos.order.num_networks, here.num_switches, here.num_up)
    lower = below + network * np.int32(here.num_switches) + switch[None, :, None]
    upper = top + network * np.int32(above.num_switches) + (first_parent[:, None] + uplink)
    return np.broadcast_to(lower, shape).ravel(), np.broadcast_to(upper, shape).ravel()


def _parent_block(clos: Clos, tier: int, block: NDArray[np.int32]) -> NDArray[np.int32]:
    above = clos.levels[tier]
    if tier == 1 and clos.rails_in_pods and clos.num_tiers > 2:
        num_units, num_lower = np.int32(clos.leaves.num_units), np.int32(above.num_lower)
        pods_per_rail = np.int32(above.num_blocks // clos.leaves.leaves_per_unit)
        return block // num_units * pods_per_rail + block % num_units // num_lower
    return block // np.int32(above.num_lower)


def _first_switch(clos: Clos, tier: int) -> np.int32:
    below = sum(level.num_switches for level in clos.levels[: tier - 1])
    return np.int32(below * clos.order.num_networks)


def _per_network(clos: Clos, values: NDArray[np.int16]) -> NDArray[np.int16]:
    """Repeat one value of each network over its switches, tier by tier."""
    return np.concatenate([np.repeat(values, level.num_switches) for level in clos.levels])


def _switch_planes(request: Request, clos: Clos) -> NDArray[np.int16]:
    network = np.arange(clos.order.num_networks, dtype=np.int16)
    return _per_network(clos, network // np.int16(_rails_apart(request, clos)))


def _switch_rails(request: Request, clos: Clos) -> NDArray[np.int16]:
    network = np.arange(clos.order.num_networks, dtype=np.int16)
    num_apart = _rails_apart(request, clos)
    if num_apart > 1:
        return _per_network(clos, network % np.int16(num_apart))
    rails = _per_network(clos, np.full_like(network, -1))
    if clos.order.by_rail and clos.leaves.rails_per_leaf == 1 and request.num_nics > 1:
        leaf = np.arange(clos.levels[0].num_switches, dtype=np.int32)
        rail = (
            leaf // clos.leaves.num_units
            if clos.rails_in_pods
            else leaf % clos.leaves.leaves_per_unit
        )
        rails[: len(leaf) * len(network)] = np.tile(rail.astype(np.int16), len(network))
    return rails
