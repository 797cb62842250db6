"""Size the folded Clos in all its forms: shared leaves, rails, rails apart, planes, tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from netloom.errors import InfeasibleError
from netloom.fabric.design import MAX_PATHS, Design, Reach, Stage, Tier
from netloom.fabric.topologies.clos import MAX_TIERS, Clos, ClosOrder, fits_clos, plan_clos
from netloom.fabric.topologies.ports import switch_ports
from netloom.spec.topology import MAX_OVERSUBSCRIPTION, MAX_PLANES
from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from netloom.fabric.topologies.request import Request

__all__ = ["ClosShape", "clos_order", "size_clos"]

_MAX_RADIX = 4096  # no switch has more; a remedy beyond is none


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosShape:
    """The folded Clos that a kind of topology asks for.

    Attributes:
        tiers: Switch tiers; None for the fewest that fit.
        oversubscription: At the leaves.
        spine_oversubscription: At the tiers between the leaves and the top.
        uplink_rate_bps: Of a cable between switches; None for that of a host port.
        hosts_per_leaf: Host ports used on a leaf; None for all that fit.
        by_rail: Whether a leaf takes one NIC index of many nodes, or all NICs of a few.
        rails_apart: Whether each rail is a network of its own.
        num_planes: Parallel networks that each NIC is split over.
        min_planes: The fewest that the kind allows.
        has_fixed_tiers: Whether the kind has no other number of tiers.
        tier_names: What the kind calls them, from the hosts up.
    """

    tiers: int | None = None
    oversubscription: float
    spine_oversubscription: float
    uplink_rate_bps: float | None = None
    hosts_per_leaf: int | None = None
    by_rail: bool = False
    rails_apart: bool = False
    num_planes: int = 1
    min_planes: int = 1
    has_fixed_tiers: bool = False
    tier_names: tuple[str, ...] = ("leaf", "spine", "core", "super-core")


def size_clos(request: Request, shape: ClosShape) -> Design:
    """Return the folded Clos of *shape*.

    Raises:
        InfeasibleError: the switch has too few ports; the message says what would do.
    """
    order = clos_order(request, shape)
    clos = plan_clos(order, shape.tiers)
    if clos is None:
        raise InfeasibleError(_why_not(request, shape, order))
    names = shape.tier_names[: clos.num_tiers]
    return Design(
        topology=request.topology,
        num_nodes=request.num_nodes,
        num_gpus=request.num_gpus,
        num_rails=request.num_nics if shape.by_rail or shape.rails_apart else 1,
        num_planes=shape.num_planes,
        num_ports=request.num_nodes * request.num_nics * shape.num_planes,
        port_rate_bps=order.ports.host_rate_bps,
        switch=request.switch,
        radix=order.ports.host_radix,
        tiers=_tiers(clos, names),
        stages=_stages(clos, names),
        reaches=_reaches(clos, names),
        notes=_notes(request, clos, names),
    )


def clos_order(request: Request, shape: ClosShape) -> ClosOrder:
    """Return what one of the equal networks of *shape* has to join.

    Raises:
        InfeasibleError: the switch has no port as fast as the NIC's, or too few for a leaf.
    """
    _check_planes(request, shape)
    order = ClosOrder(
        ports=switch_ports(
            request.switch,
            rate_bps=request.nic_rate_bps / shape.num_planes,
            uplink_rate_bps=shape.uplink_rate_bps,
        ),
        num_nodes=request.num_nodes,
        num_nics=1 if shape.rails_apart else request.num_nics,
        by_rail=shape.by_rail,
        num_networks=shape.num_planes * (request.num_nics if shape.rails_apart else 1),
        oversubscription=shape.oversubscription,
        spine_oversubscription=shape.spine_oversubscription,
        hosts_per_leaf=shape.hosts_per_leaf,
    )
    _check_leaf(request, order)
    return order


def _check_planes(request: Request, shape: ClosShape) -> None:
    """Refuse planes that share no rate with the switch: no module is sold for 133 Gbit/s."""
    num_planes = shape.num_planes
    if num_planes == 1 or request.switch.radix(request.nic_rate_bps / num_planes):
        return
    fitting = [
        str(planes)
        for planes in range(shape.min_planes, MAX_PLANES + 1)
        if request.switch.radix(request.nic_rate_bps / planes)
    ]
    rate = format_quantity(request.nic_rate_bps / num_planes, RATE)
    remedy = f"planes: {' or '.join(fitting)}" if fitting else "another kind, or another switch"
    raise InfeasibleError(
        key="topology.planes",
        what=(
            f"{num_planes} planes share a NIC of "
            f"{format_quantity(request.nic_rate_bps, RATE)} in ports of {rate}, which "
            f"{request.switch.name} does not have: use {remedy}"
        ),
    )


def _check_leaf(request: Request, order: ClosOrder) -> None:
    wanted = order.hosts_per_leaf
    most = order.ports.max_hosts(order.oversubscription)
    if wanted is None or wanted <= most:
        return
    if most == 0:
        raise InfeasibleError(_no_uplinks(request, order))
    raise InfeasibleError(
        key="topology.hosts_per_leaf",
        what=(
            f"{wanted} host ports and their uplinks do not fit on the "
            f"{order.ports.host_radix} ports of {request.switch.name} at an "
            f"oversubscription of {order.oversubscription:g}: use hosts_per_leaf: {most} "
            "or less"
        ),
    )


def _no_uplinks(request: Request, order: ClosOrder) -> str:
    """Say that not even one host port leaves room for its uplinks, and what would do."""
    ports, taper = order.ports, order.oversubscription
    faster = [
        f"uplink_rate: {format_quantity(mode.rate_bps, RATE)}"
        for mode in request.switch.modes
        if replace(ports, radix=mode.count, rate_bps=mode.rate_bps).max_hosts(taper)
    ]
    higher = [
        f"oversubscription: {number} or more"
        for number in range(1, MAX_OVERSUBSCRIPTION + 1)
        if number > taper and ports.max_hosts(number)
    ]
    remedies = [*faster[:1], *higher[:1]] or ["a switch with more ports"]
    return (
        f"topology.uplink_rate: a host port of {format_quantity(ports.host_rate_bps, RATE)} needs "
        f"{ports.min_up(1, taper):,} uplinks of {format_quantity(ports.rate_bps, RATE)} at an "
        f"oversubscription of {taper:g}, and {request.switch.name} has room for "
        f"{ports.max_up(1)} beside it: use {', or '.join(remedies)}"
    )


def _tiers(clos: Clos, names: tuple[str, ...]) -> tuple[Tier, ...]:
    return tuple(
        Tier(
            name=name,
            num_switches=level.num_switches * clos.order.num_networks,
            num_down=level.num_down,
            num_up=level.num_up,
        )
        for name, level in zip(names, clos.levels, strict=True)
    )


def _stages(clos: Clos, names: tuple[str, ...]) -> tuple[Stage, ...]:
    order = clos.order
    hosts = Stage(
        lower="node",
        upper=names[0],
        num_cables=order.num_nodes * order.num_nics * order.num_networks,
        rate_bps=order.ports.host_rate_bps,
    )
    between = (
        Stage(
            lower=lower,
            upper=upper,
            num_cables=level.num_switches * level.num_up * order.num_networks,
            rate_bps=order.ports.rate_bps,
        )
        for lower, upper, level in zip(names, names[1:], clos.levels, strict=False)
    )
    return (hosts, *between)


def _reaches(clos: Clos, names: tuple[str, ...]) -> tuple[Reach, ...]:
    ports, levels = clos.order.ports, clos.levels
    first = Reach(
        tier=names[0],
        num_nodes=levels[0].num_nodes,
        num_hops=1,
        num_paths=1,
        num_links=0,
        num_switches=0,
        taper=1.0,
    )
    reaches = [first]
    host_bps = levels[0].num_down * ports.host_rate_bps  # under one block of the tier below
    for name, below, level in zip(names[1:], levels, levels[1:], strict=False):
        up_bps = below.num_per_block * below.num_up * ports.rate_bps
        last = reaches[-1]
        num_paths = last.num_paths * level.num_spread * level.num_parallel**2
        reaches.append(
            Reach(
                tier=name,
                num_nodes=level.num_nodes,
                num_hops=last.num_hops + 2,
                num_paths=min(num_paths, MAX_PATHS),
                num_links=below.num_up,
                num_switches=level.num_lower * below.num_per_block * clos.order.num_networks,
                taper=max(last.taper, host_bps / up_bps),
            )
        )
        host_bps *= level.num_lower
    return tuple(reaches)


def _notes(request: Request, clos: Clos, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        note
        for note in (
            _rate_note(request, clos),
            _room_note(clos),
            _rail_note(clos),
            _single_note(clos, names),
        )
        if note
    )


def _rate_note(request: Request, clos: Clos) -> str:
    rate_bps = clos.order.ports.host_rate_bps
    if request.switch.radix(rate_bps):
        return ""
    rate = format_quantity(rate_bps, RATE)
    return (
        f"{request.switch.name} has no mode of {rate} ports; "
        f"{clos.order.ports.host_radix} faster ones run at {rate}"
    )


def _room_note(clos: Clos) -> str:
    most = _max_nodes(clos.order, clos.num_tiers)
    spare = most - clos.order.num_nodes
    return (
        f"with {_tier_count(clos.num_tiers)} this switch joins up to {most:,} nodes: {spare:,} more"
    )


def _tier_count(num_tiers: int) -> str:
    return "1 tier" if num_tiers == 1 else f"{num_tiers} tiers"


def _rail_note(clos: Clos) -> str:
    if clos.rails_in_pods:
        return "each pod holds leaves of a single rail: those of one unit do not fit in a pod"
    if clos.order.by_rail and clos.leaves.rails_per_leaf > 1 and clos.num_tiers > 1:
        return f"{clos.leaves.rails_per_leaf} rails share a leaf, for the nodes are few"
    return ""


def _single_note(clos: Clos, names: tuple[str, ...]) -> str:
    for name, level in zip(names[1:], clos.levels[1:], strict=True):
        if level.num_per_block == 1:
            return f"one {name} joins all below it: when it fails they are cut off"
    return ""


def _max_nodes(order: ClosOrder, num_tiers: int) -> int:
    """Return the most nodes that *num_tiers* tiers join; 0 when not even one."""
    return _max_nodes_of(replace(order, num_nodes=1), num_tiers)


@lru_cache(maxsize=1024)  # a search asks for many sizes of one network
def _max_nodes_of(order: ClosOrder, num_tiers: int) -> int:
    fewer, more = 0, 1
    while fits_clos(replace(order, num_nodes=more), num_tiers):
        fewer, more = more, more * 2
    while more - fewer > 1:
        middle = (fewer + more) // 2
        if fits_clos(replace(order, num_nodes=middle), num_tiers):
            fewer = middle
        else:
            more = middle
    return fewer


def _why_not(request: Request, shape: ClosShape, order: ClosOrder) -> str:
    num_tiers = shape.tiers or MAX_TIERS
    if num_tiers > 1 and order.ports.max_hosts(order.oversubscription) == 0:
        return _no_uplinks(request, order)
    per_node = order.num_nics * order.num_networks
    most = _max_nodes(order, num_tiers) * per_node
    return (
        f"{_tier_count(num_tiers)} of {request.switch.name} with "
        f"{order.ports.host_radix} ports can join {most:,} NIC ports; "
        f"this cluster has {order.num_nodes * per_node:,}: "
        f"use {', or '.join(_remedies(shape, order, num_tiers))}"
    )


def _remedies(shape: ClosShape, order: ClosOrder, num_tiers: int) -> list[str]:
    remedies = [
        f"tiers: {tiers}"
        for tiers in range(num_tiers + 1, MAX_TIERS + 1)
        if fits_clos(order, tiers)
    ][:1]
    steepest = float(MAX_OVERSUBSCRIPTION)
    steep = replace(order, oversubscription=steepest, spine_oversubscription=steepest)
    if shape.has_fixed_tiers:
        remedies = ["a higher oversubscription"] if fits_clos(steep, num_tiers) else []
    radix = order.ports.host_radix
    larger = (
        f"a switch with at least {more} ports"
        for more in range(radix + 1, _MAX_RADIX + 1)
        if fits_clos(replace(order, ports=order.ports.scaled(more)), num_tiers)
    )
    fewer = ["fewer nodes"] if fits_clos(replace(order, num_nodes=1), num_tiers) else []
    found = next(larger, None)
    remedies += fewer if found is None else [found]
    apart = replace(order, num_nics=1, num_networks=order.num_nics, by_rail=False)
    if order.num_nics > 1 and fits_clos(apart, num_tiers):
        remedies += ["kind: rail-only"]
    return remedies or ["another kind"]
