"""A switch as its configuration has it, whatever system it runs: what rules are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netloom.ops.deploy.ports import PortQos

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.ops.deploy.ports import Marks

__all__ = ["Bfd", "BgpNeighbour", "DeviceConfig", "PortConfig", "joined", "rule_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortConfig:
    """A port of a switch.

    Attributes:
        uses: What shows that it is meant to work: an address, a session, a description.
        rate_bps: None where the file does not say.
        num_ways: Into how many ports its cage is split; None where the file does not say.
        way_rate_bps: The rate that the split gives each; None likewise.
        addresses: With their prefix lengths.
        pausing: Priorities that are paused.
        is_watched: Whether a watchdog ends pauses that last.
        priority_of: Traffic class by DSCP, as the port maps them; empty where it does not.
        queue_of: Queue by traffic class, where that is not its own number.
        marks: ECN by queue.
    """

    name: str
    is_up: bool = True
    uses: tuple[str, ...] = ()
    mtu_bytes: int | None = None
    rate_bps: float | None = None
    num_ways: int | None = None
    way_rate_bps: float | None = None
    addresses: tuple[str, ...] = ()
    pausing: frozenset[int] = frozenset()
    is_watched: bool = False
    priority_of: Mapping[int, int] = field(default_factory=dict)
    queue_of: Mapping[int, int] = field(default_factory=dict)
    marks: Mapping[int, Marks] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bfd:
    """How soon a silent neighbour is noticed."""

    interval_ms: int
    multiplier: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BgpNeighbour:
    """A session as one end has it.

    Attributes:
        name: Interface or address.
        remote_as: None where any but its own will do.
        bfd: None where it is off.
        hold_s: None for the system's default.
    """

    name: str
    remote_as: int | None = None
    bfd: Bfd | None = None
    hold_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConfig:
    """A switch.

    Attributes:
        where: Its file.
        system: The operating system whose file it is.
        hostname: Empty where the file does not say.
        asn: None without BGP.
        addresses: Of loopbacks and other interfaces that are no ports.
        neighbours: Its BGP sessions.
        unknown: Settings that were not understood, each in the file's own words.
    """

    where: str
    system: str
    hostname: str = ""
    asn: int | None = None
    router_id: str = ""
    addresses: tuple[str, ...] = ()
    ports: Mapping[str, PortConfig] = field(default_factory=dict)
    neighbours: tuple[BgpNeighbour, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def every_address(self) -> tuple[str, ...]:
        """Those of ports as well; ``dhcp`` and the like are none."""
        of_ports = (one for port in self.ports.values() for one in port.addresses)
        every = (*self.addresses, *of_ports)
        return tuple(one for one in every if one[:1].isdigit() or ":" in one)


def rule_of(devices: Iterable[DeviceConfig]) -> PortQos | None:
    """Return a port that pauses as NICs are compared with it; None where none does.

    What files of its system do not show (headroom, groups) is left out, and not judged.
    """
    every = ((device, port) for device in devices for port in device.ports.values())
    found = next(((device, port) for device, port in every if port.pausing), None)
    if found is None:
        return None
    device, port = found
    return PortQos(
        where=f"{device.where}: {port.name}",
        rate_bps=port.rate_bps or 0.0,
        length_m=0.0,
        mtu_bytes=port.mtu_bytes or 0,
        priority_of=port.priority_of,
        group_of={},
        queue_of=port.queue_of or {priority: priority for priority in range(8)},
        held_by={},
        pausing=port.pausing,
        watched=port.pausing if port.is_watched else frozenset(),
        room_of={},
        never_drops=frozenset(),
        marks=port.marks,
    )


def joined(one: DeviceConfig, other: DeviceConfig) -> DeviceConfig:
    """Return one switch of two files of it: SONiC's tables, and FRR's routing beside them."""
    first, second = (one, other) if one.ports else (other, one)
    return DeviceConfig(
        where=first.where,
        system=first.system,
        hostname=first.hostname or second.hostname,
        asn=first.asn if second.asn is None else second.asn,
        router_id=second.router_id or first.router_id,
        # FRR may give an address that the tables give as well.
        addresses=tuple(dict.fromkeys((*first.addresses, *second.addresses))),
        ports={**second.ports, **first.ports},
        neighbours=(*first.neighbours, *second.neighbours),
        unknown=(*first.unknown, *(f"{second.where}: {line}" for line in second.unknown)),
    )
