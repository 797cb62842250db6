"""SNMP: interfaces, neighbours and optics of a device.

By IF-MIB (RFC 2863), LLDP-MIB (IEEE 802.1AB) and ENTITY-SENSOR-MIB (RFC 3433) with ENTITY-MIB (RFC
6933). Read from what ``snmpbulkwalk -OnQUet`` prints: numbers of objects, values without types.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from netloom.ops.observe.devices import DeviceReport, PortValue, SeenNeighbour

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SUBTREES", "WALKS", "parse_walk", "report_of"]

IF, IF_X = ".1.3.6.1.2.1.2.2.1", ".1.3.6.1.2.1.31.1.1.1"
LLDP_LOCAL, LLDP_REMOTE = ".1.0.8802.1.1.2.1.3.7.1", ".1.0.8802.1.1.2.1.4.1.1"
PHYSICAL, SENSOR = ".1.3.6.1.2.1.47.1.1.1.1", ".1.3.6.1.2.1.99.1.1.1"
ALIAS: Final = ".1.3.6.1.2.1.47.1.3.2.1"
DESCRIPTION, INSIDE_OF = f"{PHYSICAL}.2", f"{PHYSICAL}.4"
SYSTEM: Final = ".1.3.6.1.2.1.1"
SYSTEM_TEXT: Final = f"{SYSTEM}.1"  # sysDescr (RFC 3418): hardware, operating system, version
SUBTREES: Final = (SYSTEM, IF, IF_X, LLDP_LOCAL, LLDP_REMOTE, PHYSICAL, ALIAS, SENSOR)
# Of what is physical only two columns are read; an agent without them answers at once.
WALKS: Final = (
    *(SYSTEM, IF, IF_X, LLDP_LOCAL, LLDP_REMOTE),
    *(SENSOR, DESCRIPTION, INSIDE_OF, f"{ALIAS}.2"),
)
NAME: Final = f"{IF_X}.1"
_COUNTS: Final = {
    f"{IF}.4": ("mtu_bytes", 1.0),
    f"{IF}.13": ("receive_discards", 1.0),
    f"{IF}.14": ("receive_errors", 1.0),
    f"{IF}.19": ("send_discards", 1.0),
    f"{IF}.20": ("send_errors", 1.0),
    f"{IF_X}.6": ("received_bytes", 1.0),
    f"{IF_X}.10": ("sent_bytes", 1.0),
}
_PACKETS: Final = {
    "received_packets": (f"{IF_X}.7", f"{IF_X}.8", f"{IF_X}.9"),
    "sent_packets": (f"{IF_X}.11", f"{IF_X}.12", f"{IF_X}.13"),
}
_STATES: Final = {f"{IF}.7": "admin_up", f"{IF}.8": "link_up"}
SPEED: Final = f"{IF_X}.15"  # ifHighSpeed, megabits a second
MAC: Final = "3"  # of LldpPortIdSubtype
_LINE: Final = re.compile(r"(?P<oid>(?:\.\d{1,10}){3,60}) = (?P<value>.{0,400})", re.ASCII)
_COLUMNS: Final = tuple(
    re.compile(rf"(?P<column>{re.escape(tree)}\.\d{{1,3}})\.(?P<index>[\d.]{{1,200}})", re.ASCII)
    for tree in SUBTREES
)
_NUMBER: Final = re.compile(r"\d{1,20}", re.ASCII)
_READING: Final = re.compile(r"-?\d{1,10}", re.ASCII)
_IF_INDEX: Final = re.compile(rf"{re.escape(IF)}\.1\.(?P<index>\d{{1,10}})", re.ASCII)
_WAY: Final = re.compile(r"\b(?P<way>rx|receive|input|tx|transmit|output)", re.IGNORECASE)
_LANE: Final = re.compile(r"\b(?:lane|channel)[ _-]?(?P<lane>[1-9]\d?)\b", re.IGNORECASE | re.ASCII)
RECEIVES: Final = frozenset({"rx", "receive", "input"})
VOLTS_DC, AMPERES, WATTS, CELSIUS, DBM = "4", "5", "6", "8", "14"  # of EntitySensorDataType
MAX_DEPTH: Final = 16

if TYPE_CHECKING:
    Columns = Mapping[str, Mapping[str, str]]


def parse_walk(text: str) -> dict[str, dict[str, str]]:
    """Return values by column, then by index; lines of anything else are passed over."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in text.split("\n"):
        match = _LINE.fullmatch(line.rstrip("\r"))
        if match is None:
            continue
        for pattern in _COLUMNS:
            if place := pattern.fullmatch(match["oid"]):
                found[place["column"]][place["index"]] = match["value"].strip().strip('"')
    return dict(found)


def report_of(columns: Columns) -> DeviceReport:
    """Return what a device says of its interfaces, each by its name."""
    names = columns.get(NAME, {})
    values = [*_values(columns, names), *_packets(columns, names), *_optics(columns, names)]
    return DeviceReport(
        values=values,
        neighbours=[*_neighbours(columns)],
        missing="" if names else "no ifName (IF-MIB): its interfaces have no names",
        versions={"os": next(iter(columns.get(SYSTEM_TEXT, {}).values()), "")},
    )


def _values(columns: Columns, names: Mapping[str, str]) -> Iterator[PortValue]:
    for index, port in names.items():
        for column, (metric, scale) in _COUNTS.items():
            if (count := _number(columns, column, index)) is not None:
                yield PortValue(port, metric, scale * count)
        for column, metric in _STATES.items():
            # up(1), down(2); testing, unknown and others say neither.
            if (state := _number(columns, column, index)) in {1, 2}:
                yield PortValue(port, metric, float(state == 1))
        speed = _number(columns, SPEED, index)
        if speed and _number(columns, f"{IF}.8", index) == 1:
            yield PortValue(port, "rate_bps", 1e6 * speed)


def _packets(columns: Columns, names: Mapping[str, str]) -> Iterator[PortValue]:
    for index, port in names.items():
        for metric, parts in _PACKETS.items():
            counts = [_number(columns, column, index) for column in parts]
            if counts[0] is not None:
                yield PortValue(port, metric, sum(count or 0.0 for count in counts))


def _neighbours(columns: Columns) -> Iterator[SeenNeighbour]:
    """Give what ports see: rows are time mark, local port's number and the neighbour's number."""
    for index, device in columns.get(f"{LLDP_REMOTE}.9", {}).items():
        port = _local_port(columns, index)
        by_mac = columns.get(f"{LLDP_REMOTE}.6", {}).get(index) == MAC
        there = columns.get(f"{LLDP_REMOTE}.{8 if by_mac else 7}", {}).get(index, "")
        if device and port and there:
            yield SeenNeighbour(port, device[:80], there[:80])


def _optics(columns: Columns, names: Mapping[str, str]) -> Iterator[PortValue]:
    """Give what sensors in ports say; those of fans and of the board are in none."""
    for index, kind in columns.get(f"{SENSOR}.1", {}).items():
        port = names.get(_interface(columns, index), "")
        value = _reading(columns, index)
        about = columns.get(DESCRIPTION, {}).get(index, "")[:120]
        metric = _optic_metric(kind, about)
        if not port or value is None or not metric:
            continue
        if kind == WATTS:
            if value <= 0:
                continue  # no light has no decibels
            value = 10 * math.log10(1e3 * value)
        lane = _LANE.search(about)
        yield PortValue(port, metric, value, f"lane:{lane['lane']}" if lane else "")


def _optic_metric(kind: str, about: str) -> str:
    plain = {
        VOLTS_DC: "optic_voltage_v",
        AMPERES: "optic_bias_a",
        CELSIUS: "optic_temperature_c",
    }
    way = _WAY.search(about)
    if kind in {WATTS, DBM} and way:
        is_received = way["way"].lower() in RECEIVES
        return "optic_receive_power_dbm" if is_received else "optic_transmit_power_dbm"
    return plain.get(kind, "")


def _interface(columns: Columns, index: str) -> str:
    """Return the number of the interface that holds a sensor, through what it is contained in."""
    holders, aliases = columns.get(INSIDE_OF, {}), columns.get(f"{ALIAS}.2", {})
    for _ in range(MAX_DEPTH):
        match = _IF_INDEX.fullmatch(aliases.get(f"{index}.0", ""))
        if match:
            return match["index"]
        index = holders.get(index, "")
    return ""


def _reading(columns: Columns, index: str) -> float | None:
    """Return what a sensor reads, in its own unit: thousands by scale, decimals by precision."""
    cells = [columns.get(f"{SENSOR}.{column}", {}).get(index, "") for column in (2, 3, 4, 5)]
    if not all(_READING.fullmatch(cell) for cell in cells[:3]) or cells[3] not in {"", "1"}:
        return None  # or it is not ok(1)
    scale, precision, value = (int(cell) for cell in cells[:3])
    if not (1 <= scale <= 17 and -8 <= precision <= 9):
        return None
    return float(value * 1000.0 ** (scale - 9) / 10.0**precision)


def _local_port(columns: Columns, index: str) -> str:
    """Return a local port's name: its id, or its description where the id is a MAC address."""
    number = index.split(".")[1] if index.count(".") == 2 else ""
    by_mac = columns.get(f"{LLDP_LOCAL}.2", {}).get(number) == MAC
    return columns.get(f"{LLDP_LOCAL}.{4 if by_mac else 3}", {}).get(number, "")


def _number(columns: Columns, column: str, index: str) -> float | None:
    text = columns.get(column, {}).get(index, "")
    return float(text) if _NUMBER.fullmatch(text) else None
