"""Ethernet in a lab: interfaces of every device, and the virtual cables between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netloom.drivers import kernel
from netloom.drivers.netns import FOLDER
from netloom.errors import LabError
from netloom.ops.observe.compare import Built, BuiltCable, Jack
from netloom.ops.observe.identity import shared_addresses
from netloom.ops.observe.observation import Observation, Reading, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.formats.linux.rtnetlink import IpLink

__all__ = [
    "DeviceAddresses",
    "DeviceInterfaces",
    "DeviceKernels",
    "NamespacedDevice",
    "VirtualCables",
    "absent_ports",
    "built_of_kernels",
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


@dataclass(slots=True, kw_only=True)
class DeviceKernels:
    """The kernels of all devices, asked together to see which cables are between them.

    Attributes:
        machines: The devices.
    """

    machines: tuple[NamespacedDevice, ...]
    _told: dict[str, kernel.DeviceState | LabError] = field(default_factory=dict)
    _spaces: dict[str, Mapping[int, str]] = field(default_factory=dict)
    _files: tuple[int, ...] = ()

    def look(self) -> None:
        """Ask all of them again; one that does not answer hides no other."""
        self._told = {one.name: _state(one) for one in self.machines}
        files = tuple(_file_number(one) for one in self.machines)
        if files != self._files:  # a namespace that was made again has other numbers
            self._files, self._spaces = files, {}

    def state(self, machine: NamespacedDevice) -> kernel.DeviceState:
        """Return what the last look saw of a device.

        Raises:
            LabError: it did not answer, or was not asked yet.
        """
        told = self._told.get(machine.name)
        if told is None:
            raise LabError(what=f"{machine.name} was not asked yet")
        if isinstance(told, LabError):
            raise told
        return told

    def peer_space(self, machine: NamespacedDevice, link: IpLink) -> str:
        """Return the namespace at the other end of a virtual cable; empty where it is unknown.

        A kernel numbers the namespaces it knows and keeps to that, so that it is asked again only
        for a number that is new.

        Raises:
            LabError: the device does not answer.
        """
        if link.peer_namespace is None:
            return machine.namespace
        if link.peer_namespace not in self._spaces.get(machine.name, {}):
            others = [one.namespace for one in self.machines]
            self._spaces[machine.name] = kernel.namespace_ids(machine.namespace, others)
        return self._spaces[machine.name].get(link.peer_namespace, "")


def _state(machine: NamespacedDevice) -> kernel.DeviceState | LabError:
    try:
        return kernel.device_state(machine.namespace)
    except LabError as error:
        return error


def _file_number(machine: NamespacedDevice) -> int:
    try:
        return (FOLDER / machine.namespace).stat().st_ino
    except OSError:
        return 0


def absent_ports(
    machine: NamespacedDevice, links: Iterable[IpLink], time_s: float
) -> list[Observation]:
    """Return the ports of a device that none of its interfaces is: renamed, or taken out."""
    names = {link.name for link in links}
    return [
        Observation(time_s, machine.part(name), "port_absent", 1.0)
        for name in sorted(machine.ports.keys() - names)
    ]


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
        links = kernel.device_state(self.machine.namespace).links
        seen = absent_ports(self.machine, links, time_s)
        for link in links:
            part = self.machine.part(link.name)
            seen.append(Observation(time_s, part, "link_up", float(link.is_up)))
            if link.mtu_bytes is not None:
                seen.append(Observation(time_s, part, "mtu_bytes", float(link.mtu_bytes)))
            seen += [
                Observation(time_s, part, name, float(count))
                for name, count in link.counters.items()
            ]
        return whole(self.source, time_s, seen, cursor=cursor)


@dataclass(slots=True, kw_only=True)
class VirtualCables:
    """The virtual cables between devices, and what each may carry.

    Attributes:
        kernels: Of the devices.
        built: What the last look saw.
        seen_s: When that was; None when the last look failed.
    """

    kernels: DeviceKernels
    built: Built | None = None
    seen_s: float | None = None

    @property
    def source(self) -> str:
        """Its name."""
        return "cables"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Look at every cable once."""
        self.seen_s = None
        self.kernels.look()
        self.built = built_of_kernels(self.kernels)
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
            (machine.name, int(one.ip))
            for machine in self.machines
            for one in kernel.device_state(machine.namespace).addresses
        ]
        seen = list(shared_addresses(self.owners, held, time_s))
        return whole(self.source, time_s, seen, cursor=cursor)


def built_of_namespaces(machines: Iterable[NamespacedDevice]) -> Built:
    """Return the virtual cables between devices, as their kernels tell them now.

    Raises:
        LabError: a namespace is gone.
    """
    kernels = DeviceKernels(machines=tuple(machines))
    kernels.look()
    return built_of_kernels(kernels)


def built_of_kernels(kernels: DeviceKernels) -> Built:
    """Return the virtual cables between devices, as their kernels told them last.

    A cable whose either end is down is not there: the other end would not answer. Its rate
    is that of the slower shaper.

    Raises:
        LabError: a namespace is gone.
    """
    machines = kernels.machines
    by_number = {
        (m.namespace, link.number): (m, link) for m in machines for link in kernels.state(m).links
    }
    cables = []
    for machine in machines:
        rates_bps = _shapers_bps(machine)
        for link in kernels.state(machine).links:
            other = by_number.get((kernels.peer_space(machine, link), link.peer or -1))
            if other is None or not (link.is_up and other[1].is_up):
                continue
            jacks = [_jack(*end) for end in ((machine, link), other)]
            if all(jack is not None for jack in jacks):
                one, two = (jack for jack in jacks if jack is not None)
                rate_bps = rates_bps.get(link.name)
                cables.append(BuiltCable(one=one, other=two, rate_bps=rate_bps))
    return Built(cables=tuple(cables), devices=frozenset(machine.name for machine in machines))


def _shapers_bps(machine: NamespacedDevice) -> dict[str, float]:
    """Return what each shaped interface of a device may send."""
    queues = kernel.queue_counts(machine.namespace)
    return {name: one.rate_bps for name, one in queues.items() if one.rate_bps is not None}


def _jack(machine: NamespacedDevice, link: IpLink) -> Jack | None:
    number = machine.ports.get(link.name)
    return None if number is None else Jack(machine.name, number)
