"""Addresses, interface names and autonomous systems of a routed Ethernet underlay.

Every switch speaks eBGP with its neighbours over unnumbered links (RFC 5549 next hops), every
host hangs on a /31 of its own. Autonomous systems follow RFC 7938, section 5.2: the switches of
one tier that see one another over lower tiers only share one, so that a route never goes down
and up again; where cables lie within a tier (torus, dragonfly+) each switch has its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from netloom.ops.plant import Plant, Port

__all__ = [
    "BgpRouter",
    "HostLink",
    "Underlay",
    "expected_uses",
    "expected_ways",
    "interface_name",
    "underlay_of",
]

HOSTS: Final = IPv4Network("10.128.0.0/9")  # a /31 for each NIC port
LOOPBACKS: Final = IPv4Network("10.0.0.0/16")  # a /32 for each switch
FIRST_ASN: Final = 4_200_000_000  # private use: RFC 6996


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLink:
    """The /31 between a host and its switch.

    Attributes:
        host: Place of the host in the plant.
        switch_port: Where it is plugged in.
        host_address: With its prefix length.
        switch_address: Likewise.
    """

    host: int
    switch_port: Port
    host_address: IPv4Interface
    switch_address: IPv4Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class BgpRouter:
    """A switch as BGP sees it.

    Attributes:
        device: Its place in the plant.
        name: What the fabric calls it.
        asn: Its autonomous system.
        loopback: Its router id.
        peers: Interfaces to other switches.
        networks: What it announces besides its loopback.
    """

    device: int
    name: str
    asn: int
    loopback: IPv4Address
    peers: tuple[str, ...]
    networks: tuple[IPv4Network, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Underlay:
    """All routers, and where hosts hang."""

    routers: tuple[BgpRouter, ...]
    host_links: tuple[HostLink, ...]


def interface_name(plant: Plant, port: Port) -> str:
    """Return how a device calls a port: ``swp7`` on a switch, ``eth0`` on a host."""
    is_switch = plant.devices[port.device].role == "switch"
    return f"swp{port.number}" if is_switch else f"eth{port.number - 1}"


def underlay_of(plant: Plant) -> Underlay:
    """Return the underlay of *plant*; equal plants give equal addresses.

    Raises:
        InfeasibleError: it has more switches or hosts than the address plan.
    """
    _check(plant)
    links = tuple(
        _host_link(index, cable.lower.device, cable.upper)
        for index, cable in enumerate(c for c in plant.cables if _is_host(plant, c.lower))
    )
    networks = defaultdict(list)
    for link in links:
        networks[link.switch_port.device].append(link.switch_address.network)
    peers = defaultdict(list)
    for cable in plant.cables:
        if not _is_host(plant, cable.lower):
            for port in cable.ends:
                peers[port.device].append(interface_name(plant, port))
    asns = _asns(plant)
    routers = tuple(
        BgpRouter(
            device=device,
            name=plant.devices[device].name,
            asn=asns[device],
            loopback=LOOPBACKS[index + 1],
            peers=tuple(peers[device]),
            networks=tuple(networks[device]),
        )
        for index, device in enumerate(_switches(plant))
    )
    return Underlay(routers=routers, host_links=links)


def expected_ways(
    plant: Plant, underlay: Underlay, gone: Collection[int] = ()
) -> dict[int, dict[str, tuple[str, ...]]]:
    """Return, for each switch, the interfaces it should use towards each host's prefix.

    They are the first hops of all shortest paths that BGP takes; a host of its own hangs on one
    interface. Prefixes that cannot be reached are left out.

    Args:
        plant: As designed.
        underlay: Its addresses.
        gone: Numbers of cables that carry no routes: down, drained, or without a session.
    """
    ways: dict[int, dict[str, tuple[str, ...]]] = {r.device: {} for r in underlay.routers}
    for leaf, links, towards in _trees(plant, underlay, gone):
        for link in links:
            own = (interface_name(plant, link.switch_port),)
            ways[leaf][str(link.switch_address.network)] = own
        for device, interfaces in towards.items():
            names = {str(link.switch_address.network): interfaces for link in links}
            ways[device].update(names)
    return ways


def expected_uses(
    plant: Plant, underlay: Underlay, gone: Collection[int] = ()
) -> dict[str, dict[str, int]]:
    """Return how many hosts each switch should reach over each interface, both by name.

    The sum over the interfaces of a switch is the number of ways that it should have.

    Args:
        plant: As designed.
        underlay: Its addresses.
        gone: Numbers of cables that carry no routes.
    """
    uses: dict[int, dict[str, int]] = {r.device: defaultdict(int) for r in underlay.routers}
    for leaf, links, towards in _trees(plant, underlay, gone):
        for link in links:
            uses[leaf][interface_name(plant, link.switch_port)] += 1
        for device, interfaces in towards.items():
            for interface in interfaces:
                uses[device][interface] += len(links)
    return {plant.devices[device].name: dict(own) for device, own in uses.items()}


def _trees(
    plant: Plant, underlay: Underlay, gone: Collection[int]
) -> Iterator[tuple[int, list[HostLink], dict[int, tuple[str, ...]]]]:
    """Give each switch with hosts, their links, and the ways of all others to it."""
    gone = frozenset(gone)
    down = {port for cable in plant.cables if cable.number in gone for port in cable.ends}
    by_leaf: dict[int, list[HostLink]] = defaultdict(list)
    for link in underlay.host_links:
        if link.switch_port not in down:
            by_leaf[link.switch_port.device].append(link)
    near = _neighbours(plant, gone)
    asns = {router.device: router.asn for router in underlay.routers}
    for leaf, links in by_leaf.items():
        yield leaf, links, _towards(plant, leaf, near, asns)


def _neighbours(plant: Plant, gone: frozenset[int]) -> dict[int, list[tuple[int, Port]]]:
    """Return, for each switch, the other switches and the port that each has towards it."""
    near: dict[int, list[tuple[int, Port]]] = {device: [] for device in _switches(plant)}
    for cable in plant.cables:
        if not _is_host(plant, cable.lower) and cable.number not in gone:
            near[cable.lower.device].append((cable.upper.device, cable.upper))
            near[cable.upper.device].append((cable.lower.device, cable.lower))
    return near


def _towards(
    plant: Plant, leaf: int, near: dict[int, list[tuple[int, Port]]], asns: dict[int, int]
) -> dict[int, tuple[str, ...]]:
    """Return the interfaces on shortest paths to *leaf*, for every other switch that has any.

    A switch takes no path that has its own autonomous system on it (RFC 4271, section 9.1.2), so
    that in a tree no route goes down and up again, also where cables are gone.
    """
    systems = {leaf: frozenset({asns[leaf]})}
    ways: dict[int, tuple[str, ...]] = {}
    edge = [leaf]
    while edge:
        offers: dict[int, list[tuple[int, Port]]] = defaultdict(list)
        for device in edge:
            for other, port in near[device]:
                if other not in systems and asns[other] not in systems[device]:
                    offers[other].append((device, port))
        for other, some in offers.items():
            ways[other] = tuple(sorted(interface_name(plant, port) for _, port in some))
            systems[other] = systems[some[0][0]] | {asns[other]}
        edge = list(offers)
    return ways


def _check(plant: Plant) -> None:
    num_hosts, num_switches = len(plant.hosts), len(plant.switches)
    if 2 * num_hosts > HOSTS.num_addresses or num_switches + 1 >= LOOPBACKS.num_addresses:
        raise InfeasibleError(
            what=f"{num_hosts:,} hosts and {num_switches:,} switches are more than addresses"
        )


def _switches(plant: Plant) -> list[int]:
    return [number for number, one in enumerate(plant.devices) if one.role == "switch"]


def _is_host(plant: Plant, port: Port) -> bool:
    return plant.devices[port.device].role == "host"


def _host_link(index: int, host: int, switch_port: Port) -> HostLink:
    first = int(HOSTS.network_address) + 2 * index
    switch_address, host_address = (IPv4Interface((first + side, 31)) for side in (0, 1))
    return HostLink(
        host=host,
        switch_port=switch_port,
        host_address=host_address,
        switch_address=switch_address,
    )


def _asns(plant: Plant) -> dict[int, int]:
    """Return the autonomous system of each switch."""
    switches = _switches(plant)
    if any(_tier(plant, c.lower) == _tier(plant, c.upper) for c in plant.cables):
        return {device: FIRST_ASN + index for index, device in enumerate(switches)}
    asns: dict[int, int] = {}
    numbers: dict[tuple[int, int], int] = {}
    group = list(range(len(plant.devices)))
    for tier in sorted({plant.devices[device].tier for device in switches}):
        for cable in plant.cables:
            if _tier(plant, cable.upper) == tier and not _is_host(plant, cable.lower):
                _join(group, cable.lower.device, cable.upper.device)
        for device in switches:
            if plant.devices[device].tier == tier:
                key = (tier, _leader(group, device))
                asns[device] = numbers.setdefault(key, FIRST_ASN + len(numbers))
    return asns


def _tier(plant: Plant, port: Port) -> int:
    return plant.devices[port.device].tier


def _leader(group: list[int], device: int) -> int:
    while group[device] != device:
        group[device] = group[group[device]]
        device = group[device]
    return device


def _join(group: list[int], one: int, other: int) -> None:
    first, second = sorted((_leader(group, one), _leader(group, other)))
    group[second] = first
