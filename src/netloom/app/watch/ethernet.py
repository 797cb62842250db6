"""Ethernet: interfaces of every device, and what its routing daemons and kernel believe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.drivers import bfd, frr, kernel
from netloom.ops.observe.compare import Built, BuiltCable, Jack
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.formats.linux.iproute import IpLink

__all__ = [
    "DeviceInterfaces",
    "NamespacedDevice",
    "RouterState",
    "VirtualCables",
    "built_of_namespaces",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacedDevice:
    """A device and its namespace.

    Attributes:
        name: What the fabric calls it.
        namespace: Of the network, and FRR's pathspace; empty for this machine's own.
        ports: Number of the port by interface.
    """

    name: str
    namespace: str
    ports: Mapping[str, int]

    def part(self, interface: str) -> str:
        """Return the port that an interface is, or the device with the interface's name."""
        if interface in self.ports:
            return f"{self.name}[{self.ports[interface]}]"
        return f"{self.name}/{interface}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInterfaces:
    """The interfaces of one device: state and counters."""

    machine: NamespacedDevice

    @property
    def source(self) -> str:
        """Its name."""
        return f"interfaces {self.machine.name}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Look at every interface once."""
        seen: list[Observation] = []
        for link in kernel.links(self.machine.namespace):
            part = self.machine.part(link.name)
            seen.append(Observation(time_s, part, "link_up", float(link.is_up)))
            seen += [
                Observation(time_s, part, name, float(count))
                for name, count in link.counters.items()
            ]
        return whole(self.source, time_s, seen, cursor=cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterState:
    """What one switch believes: BGP and BFD sessions, its daemon's routes against its kernel's.

    Attributes:
        machine: The switch.
        prefixes: Routes to hosts; only these are compared.
    """

    machine: NamespacedDevice
    prefixes: frozenset[str]

    @property
    def source(self) -> str:
        """Its name."""
        return f"routes {self.machine.name}"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Ask the daemons and the kernel once."""
        space = self.machine.namespace
        seen = [*self._sessions(time_s), *self._routes(time_s)]
        unusable = sum(not hop.is_usable for hop in kernel.next_hops(space))
        name = self.machine.name
        seen.append(Observation(time_s, name, "unusable_next_hops", float(unusable)))
        return whole(self.source, time_s, seen, cursor=cursor)

    def _sessions(self, time_s: float) -> Iterable[Observation]:
        for peer in frr.peers(self.machine.namespace):
            part = self.machine.part(peer.name)
            yield Observation(time_s, part, "bgp_up", float(peer.is_up))
            yield Observation(time_s, part, "bgp_prefixes", float(peer.num_prefixes))
        for session in bfd.sessions(self.machine.namespace):
            part = self.machine.part(session.interface)
            yield Observation(time_s, part, "bfd_up", float(session.is_up))

    def _routes(self, time_s: float) -> Iterable[Observation]:
        space, name = self.machine.namespace, self.machine.name
        believed = {r.prefix: r.interfaces for r in frr.routes(space) if r.prefix in self.prefixes}
        real = {r.prefix: r.interfaces for r in frr.fib(space) if r.prefix in self.prefixes}
        differ = sum(believed.get(p, ()) != real.get(p, ()) for p in self.prefixes)
        yield Observation(time_s, name, "rib_ways", float(sum(map(len, believed.values()))))
        yield Observation(time_s, name, "fib_ways", float(sum(map(len, real.values()))))
        yield Observation(time_s, name, "divergent_routes", float(differ))


@dataclass(slots=True, kw_only=True)
class VirtualCables:
    """The virtual cables between devices, and what each may carry.

    Attributes:
        machines: The devices.
        built: What the last look saw.
        seen_s: When that was; None when the last look failed.
    """

    machines: tuple[NamespacedDevice, ...]
    built: Built | None = None
    seen_s: float | None = None

    @property
    def source(self) -> str:
        """Its name."""
        return "cables"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Look at every cable once."""
        self.seen_s = None
        self.built = built_of_namespaces(self.machines)
        self.seen_s = time_s
        seen = [
            Observation(time_s, f"{one.one.device}[{one.one.port}]", "rate_bps", one.rate_bps)
            for one in self.built.cables
            if one.rate_bps is not None
        ]
        return whole(self.source, time_s, seen, cursor=cursor)


def built_of_namespaces(machines: Iterable[NamespacedDevice]) -> Built:
    """Return the virtual cables between devices, as their kernels tell them.

    A cable whose either end is down is not there: the other end would not answer. Its rate
    is that of the slower shaper.

    Raises:
        LabError: a namespace is gone.
    """
    machines = tuple(machines)
    links = {m.namespace: kernel.links(m.namespace) for m in machines}
    by_number = {
        (m.namespace, link.number): (m, link) for m in machines for link in links[m.namespace]
    }
    cables = []
    for machine in machines:
        names = kernel.namespace_ids(machine.namespace)
        rates_bps = kernel.shapers_bps(machine.namespace)
        for link in links[machine.namespace]:
            other = by_number.get((_peer_space(link, names, machine), link.peer or -1))
            if other is None or not (link.is_up and other[1].is_up):
                continue
            jacks = [_jack(*end) for end in ((machine, link), other)]
            if all(jack is not None for jack in jacks):
                one, two = (jack for jack in jacks if jack is not None)
                rate_bps = rates_bps.get(link.name)
                cables.append(BuiltCable(one=one, other=two, rate_bps=rate_bps))
    return Built(cables=tuple(cables), devices=frozenset(machine.name for machine in machines))


def _peer_space(link: IpLink, names: Mapping[int, str], machine: NamespacedDevice) -> str:
    if link.peer_namespace is None:
        return machine.namespace
    return names.get(link.peer_namespace, "")


def _jack(machine: NamespacedDevice, link: IpLink) -> Jack | None:
    number = machine.ports.get(link.name)
    return None if number is None else Jack(machine.name, number)
