"""What the switches of a RoCE lab believe and do: sessions, and routes of daemon and kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from netloom.app.lab.ethernet import DeviceAddresses, NamespacedDevice
from netloom.drivers import frr, kernel, vty
from netloom.ops.lab import namespace_of
from netloom.ops.observe.observation import Observation, Reading, whole
from netloom.ops.underlay import expected_ways, interface_name, underlay_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.app.lab.store import LabFolder
    from netloom.formats.frr.state import Peer, Route
    from netloom.ops.plant import Plant

__all__ = ["RouterState", "addresses_of", "named_devices", "routers_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterState:
    """What one switch believes: BGP and BFD sessions, its daemon's routes and its kernel's.

    Attributes:
        machine: The switch.
        peers: Interfaces over which it should have BGP sessions.
        prefixes: Of all hosts; only routes to these are told.
    """

    machine: NamespacedDevice
    peers: tuple[str, ...]
    prefixes: frozenset[str]

    @property
    def source(self) -> str:
        """Its name."""
        return f"routes {self.machine.name}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Ask the daemons and the kernel once.

        Raises:
            LabError: one of them does not answer.
        """
        space = self.machine.namespace
        seen = [*self._sessions(time_s), *self._routes(time_s)]
        unusable = sum(not hop.is_usable for hop in kernel.next_hops(space))
        name = self.machine.name
        seen.append(Observation(time_s, name, "unusable_next_hops", float(unusable)))
        return whole(self.source, time_s, seen, cursor=cursor)

    def _sessions(self, time_s: float) -> Iterable[Observation]:
        told: dict[str, Peer] = {peer.name: peer for peer in vty.peers(self.machine.namespace)}
        for name in dict.fromkeys((*self.peers, *told)):
            part, peer = self.machine.part(name), told.get(name)
            # One that should be there and is not known to the daemon is down.
            is_up = peer is not None and peer.is_up
            yield Observation(time_s, part, "bgp_up", float(is_up))
            if peer is not None:
                yield Observation(time_s, part, "bgp_prefixes", float(peer.num_prefixes))
            if peer is not None and peer.is_shut:
                yield Observation(time_s, part, "bgp_shut", 1.0)
        for session in vty.bfd_sessions(self.machine.namespace):
            part = self.machine.part(session.interface)
            yield Observation(time_s, part, "bfd_up", float(session.is_up))
            if not session.is_up:
                yield Observation(time_s, part, "bfd_hears", float(session.hears))

    def _routes(self, time_s: float) -> Iterable[Observation]:
        space, name = self.machine.namespace, self.machine.name
        believed = {r.prefix: r.interfaces for r in vty.routes(space) if r.prefix in self.prefixes}
        held = frr.fib(space)
        real = {r.prefix: r.interfaces for r in held if r.prefix in self.prefixes}
        differ = sum(believed.get(p, ()) != real.get(p, ()) for p in self.prefixes)
        yield Observation(time_s, name, "rib_ways", float(sum(map(len, believed.values()))))
        yield Observation(time_s, name, "fib_ways", float(sum(map(len, real.values()))))
        yield Observation(time_s, name, "divergent_routes", float(differ))
        over = Counter(interface for ways in real.values() for interface in ways)
        for peer in self.peers:
            part = self.machine.part(peer)
            yield Observation(time_s, part, "routes_over", float(over[peer]))
        yield from self._foreign(held, time_s)

    def _foreign(self, held: Iterable[Route], time_s: float) -> Iterator[Observation]:
        """Give the routes into a host's network that refuse packets, or lead past its route."""
        lengths = {int(prefix.rpartition("/")[2]) for prefix in self.prefixes}
        for route in held:
            inside = _within(route.prefix, lengths) & self.prefixes
            if inside and route.is_refused:
                part = f"{self.machine.name} {route.prefix}"
                yield Observation(time_s, part, "route_refused", 1.0)
            elif inside and route.prefix not in self.prefixes:
                part = f"{self.machine.name} {route.prefix}"
                yield Observation(time_s, part, "route_foreign", 1.0)


def _within(prefix: str, lengths: Iterable[int]) -> frozenset[str]:
    """Return the networks of these lengths that *prefix* lies in, itself included."""
    try:
        network = IPv4Network(prefix)
    except ValueError:  # default
        return frozenset()
    shorter = [length for length in lengths if length <= network.prefixlen]
    return frozenset(str(network.supernet(new_prefix=length)) for length in shorter)


def named_devices(place: LabFolder, plant: Plant) -> list[NamespacedDevice]:
    """Return every device of a lab with its namespace and interfaces, in the plant's order."""
    ports: list[dict[str, int]] = [{} for _ in plant.devices]
    for cable in plant.cables:
        for port in cable.ends:
            ports[port.device][interface_name(plant, port)] = port.number
    return [
        NamespacedDevice(
            name=device.name, namespace=namespace_of(place.mark, device.name), ports=ports[number]
        )
        for number, device in enumerate(plant.devices)
    ]


def addresses_of(place: LabFolder, plant: Plant) -> DeviceAddresses:
    """Return the addresses of a lab's devices, to be compared with the design's."""
    underlay, devices = underlay_of(plant), plant.devices
    owners = {int(one.loopback): one.name for one in underlay.routers}
    for link in underlay.host_links:
        owners[int(link.host_address.ip)] = devices[link.host].name
        owners[int(link.switch_address.ip)] = devices[link.switch_port.device].name
    return DeviceAddresses(machines=tuple(named_devices(place, plant)), owners=owners)


def routers_of(place: LabFolder, plant: Plant) -> list[RouterState]:
    """Return the switches of a lab, each to be asked what it believes."""
    machines, underlay = named_devices(place, plant), underlay_of(plant)
    ways = expected_ways(plant, underlay)
    return [
        RouterState(
            machine=machines[one.device], peers=one.peers, prefixes=frozenset(ways[one.device])
        )
        for one in underlay.routers
    ]
