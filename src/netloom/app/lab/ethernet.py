"""Ethernet in a lab: interfaces of every device, and the virtual cables between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.drivers import kernel
from netloom.ops.observe.compare import Built, BuiltCable, Jack
from netloom.ops.observe.identity import shared_addresses
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.formats.linux.iproute import IpLink

__all__ = [
    "DeviceAddresses",
    "DeviceInterfaces",
    "NamespacedDevice",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceAddresses:
    """The addresses of all devices, beside those that the design gives them.

    Attributes:
        machines: The devices.
        owners: The device of each designed address, as a number.
    """

    machines: tuple[NamespacedDevice, ...]
    owners: Mapping[int, str]

    @property
    def source(self) -> str:
        """Its name."""
        return "addresses"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Ask every device once.

        Raises:
            LabError: a namespace is gone.
        """
        held = [
            (machine.name, int(one.address.ip))
            for machine in self.machines
            for one in kernel.addresses(machine.namespace)
        ]
        seen = list(shared_addresses(self.owners, held, time_s))
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
