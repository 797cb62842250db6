"""OpenConfig: what leaves say of ports, queues, optics, neighbours and sessions.

Names are those of openconfig/public: interfaces, if-ethernet, if-ip, lldp, bgp, platform,
platform-transceiver and qos. Powers are in dBm, bias currents in mA, queue lengths in bytes there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from netloom.ops.observe.addresses import port_towards
from netloom.ops.observe.devices import DeviceReport, PortValue, SeenNeighbour, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.formats.gnmi.messages import LeafPath

__all__ = ["GROUPS", "GnmiPath", "PathGroup", "report_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GnmiPath:
    """What to subscribe to: told when it changes, or every few seconds."""

    text: str
    mode: Literal["ON_CHANGE", "SAMPLE"] = "SAMPLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathGroup:
    """Paths that a device has all of or none.

    Attributes:
        name: For messages.
        paths: What to subscribe to.
        is_vital: Whether a device without them is of no use.
    """

    name: str
    paths: tuple[GnmiPath, ...]
    is_vital: bool = False


_IF: Final = "/interfaces/interface[name=*]"
_BGP: Final = (
    "/network-instances/network-instance[name=*]/protocols/protocol[identifier=BGP][name=*]"
    "/bgp/neighbors/neighbor[neighbor-address=*]/state/session-state"
)
_CHANNEL: Final = (
    "/components/component[name=*]/transceiver/physical-channels/channel[index=*]/state"
)
GROUPS: Final = (
    PathGroup(
        name="interfaces",
        paths=(
            GnmiPath(text=f"{_IF}/state/oper-status", mode="ON_CHANGE"),
            GnmiPath(text=f"{_IF}/state/admin-status", mode="ON_CHANGE"),
            GnmiPath(text=f"{_IF}/state/counters"),
        ),
        is_vital=True,
    ),
    PathGroup(
        name="settings",
        paths=(
            GnmiPath(text=f"{_IF}/state/mtu", mode="ON_CHANGE"),
            GnmiPath(text=f"{_IF}/state/transceiver", mode="ON_CHANGE"),
        ),
    ),
    PathGroup(name="ethernet", paths=(GnmiPath(text=f"{_IF}/ethernet/state"),)),
    PathGroup(
        name="addresses",
        paths=(
            GnmiPath(
                text=f"{_IF}/subinterfaces/subinterface[index=*]/ipv4/addresses", mode="ON_CHANGE"
            ),
        ),
    ),
    PathGroup(
        name="lldp",
        paths=(
            GnmiPath(
                text="/lldp/interfaces/interface[name=*]/neighbors/neighbor[id=*]/state",
                mode="ON_CHANGE",
            ),
        ),
    ),
    PathGroup(name="bgp", paths=(GnmiPath(text=_BGP, mode="ON_CHANGE"),)),
    PathGroup(
        name="optics",
        paths=(
            GnmiPath(text=_CHANNEL),
            GnmiPath(text="/components/component[name=*]/transceiver/state"),
            GnmiPath(text="/components/component[name=*]/state/temperature"),
        ),
    ),
    PathGroup(
        name="queues",
        paths=(
            GnmiPath(
                text="/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state"
            ),
        ),
    ),
)

_COUNTS: Final = {
    "in-octets": "received_bytes",
    "out-octets": "sent_bytes",
    "in-errors": "receive_errors",
    "out-errors": "send_errors",
    "in-discards": "receive_discards",
    "out-discards": "send_discards",
    "in-pkts": "received_packets",
    "out-pkts": "sent_packets",
}
_KINDS: Final = ("unicast", "multicast", "broadcast")
_ETHERNET: Final = {
    "in-mac-pause-frames": "pause_frames_received",
    "out-mac-pause-frames": "pause_frames_sent",
}
_SPEED: Final = re.compile(r"(?:[\w-]+:)?SPEED_(?P<value>\d{1,5})(?P<unit>MB|GB)", re.ASCII)
_UNITS: Final = {"MB": 1e6, "GB": 1e9}
_LANE: Final = {
    "input-power": ("optic_receive_power_dbm", 1.0),
    "output-power": ("optic_transmit_power_dbm", 1.0),
    "laser-bias-current": ("optic_bias_a", 1e-3),
}
_MODULE: Final = {
    "supply-voltage": "optic_voltage_v",
    "pre-fec-ber": "pre_fec_error_rate",
    "post-fec-ber": "post_fec_error_rate",
}
_QUEUE: Final = {
    "transmit-pkts": "queue_packets",
    "dropped-pkts": "queue_drops",
    "max-queue-len": "queue_peak_bytes",
}
_NUMBERED: Final = re.compile(r".{0,40}?(?P<number>\d{1,3})", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?", re.ASCII)

if TYPE_CHECKING:
    Leaves = Mapping[LeafPath, Any]
    # Leaves of one thing: by the names of the steps below it.
    Rows = Mapping[tuple[str, ...], Mapping[tuple[str, ...], Any]]


def report_of(leaves: Leaves) -> DeviceReport:
    """Return what a device says; what netloom does not know or is no number is passed over."""
    rows = _Rows(leaves)
    ports = rows.of("interfaces", "interface")
    optics = {
        str(row[tail]): name
        for (name,), row in ports.items()
        if (tail := ("state", "transceiver")) in row
    }
    neighbours = rows.of("lldp", "interfaces", "interface", "neighbors", "neighbor", num_keys=2)
    return DeviceReport(
        values=[
            *_states(ports),
            *_counters(ports),
            *_sessions(rows),
            *_optics(rows, optics),
            *_queues(rows),
        ],
        neighbours=[*_neighbours(neighbours)] if neighbours else None,
        missing="" if ports else "it shows no /interfaces/interface",
    )


class _Rows:
    """Leaves by the list they are in."""

    def __init__(self, leaves: Leaves) -> None:
        self._found: dict[tuple[str, ...], dict[tuple[str, ...], dict[tuple[str, ...], Any]]] = (
            defaultdict(lambda: defaultdict(dict))
        )
        for path, value in leaves.items():
            last = max((n for n, (_, keys) in enumerate(path) if keys), default=-1)
            names = tuple(name for name, _ in path)
            keys = tuple(key for _, some in path for key in some)
            self._found[names[: last + 1]][keys][names[last + 1 :]] = value

    def of(self, *names: str, num_keys: int = 1) -> Rows:
        """Return the rows of a list, by all keys on the way, outermost first."""
        found = self._found.get(names, {})
        return {keys: row for keys, row in found.items() if len(keys) == num_keys}


def _states(ports: Rows) -> Iterator[PortValue]:
    for (port,), row in ports.items():
        is_up = _word(row.get(("state", "oper-status"))) == "UP"
        for leaf, metric in (("oper-status", "link_up"), ("admin-status", "admin_up")):
            # NOT_PRESENT, LOWER_LAYER_DOWN and DORMANT carry nothing; TESTING and UNKNOWN say
            # neither (openconfig-interfaces).
            word = _word(row.get(("state", leaf)))
            if word in {"UP", "DOWN", "NOT_PRESENT", "LOWER_LAYER_DOWN", "DORMANT"}:
                yield PortValue(port, metric, float(word == "UP"))
        if (mtu := _number(row.get(("state", "mtu")))) is not None:
            yield PortValue(port, "mtu_bytes", mtu)
        speed = _speed(row, "negotiated-port-speed") or _speed(row, "port-speed")
        if is_up and speed:
            yield PortValue(port, "rate_bps", speed)


def _speed(row: Mapping[tuple[str, ...], Any], leaf: str) -> float | None:
    match = _SPEED.fullmatch(str(row.get(("ethernet", "state", leaf), ""))[:60])
    return int(match["value"]) * _UNITS[match["unit"]] if match else None


def _counters(ports: Rows) -> Iterator[PortValue]:
    for (port,), row in ports.items():
        counts = {
            tail[2]: number
            for tail, value in row.items()
            if tail[:2] == ("state", "counters") and len(tail) == 3
            if (number := _number(value)) is not None
        }
        for way in ("in", "out"):
            kinds = [counts.get(f"{way}-{kind}-pkts") for kind in _KINDS]
            if kinds[0] is not None:
                counts.setdefault(f"{way}-pkts", sum(one or 0.0 for one in kinds))
        for leaf, metric in _COUNTS.items():
            if leaf in counts:
                yield PortValue(port, metric, counts[leaf])
        for leaf, metric in _ETHERNET.items():
            number = _number(row.get(("ethernet", "state", "counters", leaf)))
            if number is not None:
                yield PortValue(port, metric, number)


def _sessions(rows: _Rows) -> Iterator[PortValue]:
    addresses = rows.of(
        *("interfaces", "interface", "subinterfaces", "subinterface"),
        *("ipv4", "addresses", "address"),
        num_keys=3,
    )
    prefixes = [
        (keys[0], f"{keys[-1]}/{_whole(row.get(('state', 'prefix-length')))}")
        for keys, row in addresses.items()
    ]
    peers = rows.of(
        *("network-instances", "network-instance", "protocols", "protocol"),
        *("bgp", "neighbors", "neighbor"),
        num_keys=4,
    )
    for keys, row in peers.items():
        word = _word(row.get(("state", "session-state")))
        if word:
            yield PortValue(
                port_towards(keys[-1], prefixes), "bgp_up", float(word == "ESTABLISHED")
            )


def _neighbours(rows: Rows) -> Iterator[SeenNeighbour]:
    """Give what ports see; a port whose id is a MAC address is called by its description."""
    for (port, *_), row in rows.items():
        by_mac = _word(row.get(("state", "port-id-type"))) == "MAC_ADDRESS"
        there = row.get(("state", "port-description" if by_mac else "port-id"))
        device = row.get(("state", "system-name"))
        if isinstance(there, str) and isinstance(device, str) and there and device:
            yield SeenNeighbour(port, device[:80], there[:80])


def _optics(rows: _Rows, ports: Mapping[str, str]) -> Iterator[PortValue]:
    """Give light and heat; *ports* has the port of each transceiver that one names."""
    names = ("components", "component", "transceiver", "physical-channels", "channel")
    channels = rows.of(*names, num_keys=2)
    for (component,), row in rows.of("components", "component").items():
        for leaf, metric in _MODULE.items():
            if (number := _instant(row, ("transceiver", "state", leaf))) is not None:
                yield PortValue(ports.get(component, component), metric, number)
        # Fans and power supplies have a temperature too.
        heat = _instant(row, ("state", "temperature"))
        if heat is not None and any(component == one for one, _ in (*ports.items(), *channels)):
            yield PortValue(ports.get(component, component), "optic_temperature_c", heat)
    # Lanes are counted from 0 by some devices, and from 1 here and by others.
    from_zero = {component for component, index in channels if index == "0"}
    for (component, index), row in channels.items():
        if not (index.isascii() and index.isdecimal()) or len(index) > 3:
            continue
        lane = int(index) + (component in from_zero)
        for leaf, (metric, scale) in _LANE.items():
            if (number := _instant(row, ("state", leaf))) is not None:
                yield PortValue(
                    ports.get(component, component), metric, scale * number, f"lane:{lane}"
                )


def _instant(row: Mapping[tuple[str, ...], Any], path: tuple[str, ...]) -> float | None:
    return _number(row.get((*path, "instant"), row.get(path)))


def _queues(rows: _Rows) -> Iterator[PortValue]:
    names = ("qos", "interfaces", "interface", "output", "queues", "queue")
    found = rows.of(*names, num_keys=2)
    for (port, name), row in found.items():
        match = _NUMBERED.fullmatch(name[:60])
        for leaf, metric in _QUEUE.items():
            number = _number(row.get(("state", leaf)))
            if match and number is not None:
                yield PortValue(port, metric, number, f"queue:{int(match['number'])}")


def _word(value: Any) -> str:
    """Return the name of an enumeration or identity, without its module."""
    return value.rpartition(":")[2] if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    number = _number(value)
    return int(number) if number is not None and 0 <= number <= 128 else -1


def _number(value: Any) -> float | None:
    """Return a number; 64-bit ones are strings in JSON (RFC 7951)."""
    if isinstance(value, str):
        return number_of(float(value)) if _NUMBER.fullmatch(value) else None
    return number_of(value)
