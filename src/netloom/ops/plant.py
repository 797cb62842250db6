"""The scale-out network as a list of devices, ports and cables, each called as the fabric calls it.

A fabric is arrays without port numbers; what runs on real devices needs ports. A *plant* numbers
them: those of a switch count from 1 in the order of the fabric's cables, so towards the hosts
first; a NIC port is a device of its own, with port 1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.part_id import CABLE, Direction, PartId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.fabric.graph import Fabric

__all__ = ["Cable", "Device", "Plant", "Port", "plant_of", "subnets"]

Role = Literal["host", "switch"]

MAX_DIGITS: Final = 10  # more than any number of cables has


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A NIC port or a switch.

    Attributes:
        name: What :mod:`netloom.fabric.names` calls it: ``nic:12``, ``leaf:3``.
        role: A NIC port is a host.
        tier: 0 for hosts; switches count from 1.
        num_ports: Ports of it, cabled or free.
    """

    name: str
    role: Role
    tier: int
    num_ports: int


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """One port of a device.

    Attributes:
        device: Its place in the plant's devices.
        number: Counted from 1.
    """

    device: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """Two links between two ports.

    Attributes:
        number: The fabric's own: links 2n and 2n + 1.
        lower: The end nearer to the hosts.
        upper: The other end.
        rate_bps: One direction, nominal.
    """

    number: int
    lower: Port
    upper: Port
    rate_bps: float

    @property
    def ends(self) -> tuple[Port, Port]:
        """Both ports, the lower first."""
        return self.lower, self.upper


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """Devices and the cables between them.

    Attributes:
        devices: Hosts first, then switches tier by tier.
        cables: In the order of their numbers.
    """

    devices: tuple[Device, ...]
    cables: tuple[Cable, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)
    _cables: dict[int, Cable] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {device.name: number for number, device in enumerate(self.devices)}
        object.__setattr__(self, "_numbers", numbers)
        object.__setattr__(self, "_cables", {cable.number: cable for cable in self.cables})

    @property
    def hosts(self) -> tuple[Device, ...]:
        """The NIC ports."""
        return tuple(device for device in self.devices if device.role == "host")

    @property
    def switches(self) -> tuple[Device, ...]:
        """The switches."""
        return tuple(device for device in self.devices if device.role == "switch")

    def number(self, name: str) -> int:
        """Return where the device called *name* stands in :attr:`devices`.

        Raises:
            SpecError: there is none in this network.
        """
        if name in self._numbers:
            return self._numbers[name]
        kinds = Counter(device.name.partition(":")[0] for device in self.devices)
        known = ", ".join(f"{kind}:0 to {kind}:{count - 1}" for kind, count in kinds.items())
        raise SpecError(what=f"{name[:80]!r} is not in this network", remedy=f"it has {known}")

    def port_name(self, port: Port) -> str:
        """Return device and number: ``leaf:3[7]``."""
        return f"{self.devices[port.device].name}[{port.number}]"

    def cable_name(self, cable: Cable) -> str:
        """Return number and both ends: ``cable:40 (leaf:3[7] - spine:0[4])``."""
        lower, upper = (self.port_name(port) for port in cable.ends)
        return f"cable:{cable.number} ({lower} - {upper})"

    def at(self, device: int) -> tuple[Cable, ...]:
        """Return the cables that end in a device."""
        return tuple(cable for cable in self.cables if device in {p.device for p in cable.ends})

    def links(self, part: str) -> tuple[tuple[Cable, Port], ...]:
        """Return the links of *part*, each as its cable and the port that sends.

        Args:
            part: A cable (``cable:40``), all cables between two devices
                (``link:leaf:3-spine:0``), one direction of them (``leaf:3->spine:0``), or every
                cable of a device (``leaf:3``).

        Raises:
            SpecError: there is no such part.
        """
        if "->" in part:
            source, _, target = part.partition("->")
            one = self.number(source)
            cables = self._between(part, one, self.number(target))
            return tuple((cable, _port_at(cable, one)) for cable in cables)
        return tuple((cable, port) for cable in self.find(part) for port in cable.ends)

    def cables_of(self, part: PartId) -> tuple[Cable, ...]:
        """Return the cable that *part* is, or those that end in it.

        Raises:
            SpecError: there is no such part.
        """
        if part.kind == CABLE:
            return (self._cable(str(part.whole), str(part.index)),)
        return self.at(self.number(str(part.whole)))

    def part(self, cable: Cable, direction: Direction = Direction.BOTH) -> PartId:
        """Return a cable as a part that tells its ends: ``cable:40 (leaf:3 - spine:0)``."""
        lower, upper = (self.devices[port.device].name for port in cable.ends)
        return PartId(CABLE, cable.number, direction, ends=(lower, upper))

    def find(self, part: str) -> tuple[Cable, ...]:
        """Return the cables of *part*, written as in :meth:`links` but for a direction.

        Raises:
            SpecError: there is no such part.
        """
        kind, _, rest = part.partition(":")
        if kind == "cable":
            return (self._cable(part, rest),)
        if kind == "link":
            one, dash, other = rest.rpartition("-")
            if not dash:
                raise SpecError(
                    what=f"{part[:80]!r} is not a link",
                    remedy="write both ends: link:leaf:3-spine:0",
                )
            return self._between(part, self.number(one), self.number(other))
        return self.at(self.number(part))

    def _cable(self, part: str, digits: str) -> Cable:
        whole = digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS
        if not (whole and int(digits) in self._cables):
            first, last = self.cables[0].number, self.cables[-1].number
            raise SpecError(
                what=f"{part[:80]!r} is not between NICs and switches",
                remedy=f"write cable:{first} to cable:{last}",
            )
        return self._cables[int(digits)]

    def _between(self, part: str, one: int, other: int) -> tuple[Cable, ...]:
        both = {one, other}
        found = tuple(c for c in self.at(one) if {p.device for p in c.ends} == both)
        if not found:
            near = dict.fromkeys(
                self.devices[port.device].name
                for cable in self.at(one)
                for port in cable.ends
                if port.device != one
            )
            some = ", ".join(list(near)[:8]) or "none"
            raise SpecError(
                what=f"{part[:80]!r}: no cable joins the two",
                remedy=f"{self.devices[one].name} has cables to {some}",
            )
        return found

    def to_json(self) -> dict[str, object]:
        """Return rows of plain values, which :meth:`from_json` reads."""
        return {
            "devices": [[d.name, d.role, d.tier, d.num_ports] for d in self.devices],
            "cables": [
                [
                    c.number,
                    c.lower.device,
                    c.lower.number,
                    c.upper.device,
                    c.upper.number,
                    c.rate_bps,
                ]
                for c in self.cables
            ],
        }

    @classmethod
    def from_json(cls, value: dict[str, list[list[object]]]) -> Plant:
        """Return what :meth:`to_json` gave.

        Raises:
            SpecError: it did not; the file was cut or changed.
        """
        try:
            devices = tuple(_device(*row) for row in value["devices"])
            cables = tuple(_cable(*row) for row in value["cables"])
            _ = [devices[port.device] for cable in cables for port in cable.ends]
        except (TypeError, KeyError, ValueError, IndexError) as error:
            raise SpecError(
                what="the list of devices and cables is damaged",
                remedy="bring the lab down and up again",
            ) from error
        return cls(devices=devices, cables=cables)


def plant_of(fabric: Fabric) -> Plant:
    """Return the NIC ports, switches and cables of *fabric*; GPUs and scale-up are left out."""
    kept = np.isin(fabric.vertex_kind, (VertexKind.NIC, VertexKind.SWITCH))
    vertices = np.flatnonzero(kept)
    place = np.full(fabric.num_vertices, -1, dtype=np.int64)
    place[vertices] = np.arange(len(vertices))
    source, target = place[fabric.link_source[::2]], place[fabric.link_target[::2]]
    chosen = np.flatnonzero((source >= 0) & (target >= 0))
    used: dict[int, int] = defaultdict(int)
    cables = tuple(_wired(fabric, int(c), (int(source[c]), int(target[c])), used) for c in chosen)
    devices = tuple(_device_of(fabric, int(v), used[n]) for n, v in enumerate(vertices))
    return Plant(devices=devices, cables=cables)


def subnets(plant: Plant) -> tuple[tuple[int, ...], ...]:
    """Return the devices that cables join, one tuple for each network that stands alone.

    Rails and planes without a common switch are networks of their own.
    """
    neighbours = defaultdict(list)
    for cable in plant.cables:
        neighbours[cable.lower.device].append(cable.upper.device)
        neighbours[cable.upper.device].append(cable.lower.device)
    seen: set[int] = set()
    return tuple(
        tuple(sorted(_reached(device, neighbours, seen)))
        for device in range(len(plant.devices))
        if device not in seen
    )


def _reached(start: int, neighbours: dict[int, list[int]], seen: set[int]) -> Iterator[int]:
    waiting = [start]
    seen.add(start)
    while waiting:
        device = waiting.pop()
        yield device
        fresh = [other for other in neighbours[device] if other not in seen]
        seen.update(fresh)
        waiting.extend(dict.fromkeys(fresh))


def _wired(fabric: Fabric, cable: int, ends: Sequence[int], used: dict[int, int]) -> Cable:
    """Return a cable on the next free port of both ends."""
    ports = []
    for device in ends:
        used[device] += 1
        ports.append(Port(device, used[device]))
    rate_bps = float(fabric.link_rate_bps[2 * cable])
    return Cable(number=cable, lower=ports[0], upper=ports[1], rate_bps=rate_bps)


def _device_of(fabric: Fabric, vertex: int, num_used: int) -> Device:
    is_switch = fabric.vertex_kind[vertex] == VertexKind.SWITCH
    return Device(
        name=vertex_name(fabric, vertex),
        role="switch" if is_switch else "host",
        tier=int(fabric.vertex_tier[vertex]),
        num_ports=max(num_used, fabric.design.radix) if is_switch else 1,
    )


def _port_at(cable: Cable, device: int) -> Port:
    return cable.lower if cable.lower.device == device else cable.upper


def _device(name: object, role: object, tier: object, num_ports: object) -> Device:
    if role not in ("host", "switch"):
        raise ValueError
    kind: Role = "host" if role == "host" else "switch"
    return Device(name=str(name), role=kind, tier=_whole(tier), num_ports=_whole(num_ports))


def _cable(*row: object) -> Cable:
    *numbers, rate_bps = row
    number, lower, lower_port, upper, upper_port = (_whole(value) for value in numbers)
    if not isinstance(rate_bps, (int, float)):
        raise TypeError
    return Cable(
        number=number,
        lower=Port(lower, lower_port),
        upper=Port(upper, upper_port),
        rate_bps=float(rate_bps),
    )


def _whole(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError
    return value
