"""UFM: what its REST API says of all ports of a fabric, and its alarms.

Keys are those that NVIDIA's UFM Enterprise REST API guide prints (6.14 to 6.23): a port's ``name``
is its GUID and number, ``peer`` that of the other end. Ports of switches are their system's, ports
of hosts their adapter's, which goes by its node description as in ibnetdiscover.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from netloom.ops.observe.devices import (
    DeviceReport,
    PortValue,
    SeenEvent,
    SeenNeighbour,
    mapping_of,
    number_of,
)
from netloom.ops.observe.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ALARMS", "PORTS", "TELEMETRY", "report_of"]

PORTS: Final = "/ufmRest/resources/ports"
ALARMS: Final = "/ufmRest/app/alarms"
# Counters that have no unit but one; of data UFM's guide does not say whether words or bytes.
_COUNTERS: Final = {
    f"{metric.diags}Extended": metric.name
    for metric in METRICS
    if metric.diags and metric.scale == 1
}
TELEMETRY: Final = (
    "/ufmRest/telemetry?type=history&membersType=Ports&function=RAW&start_time=-2min"
    f"&end_time=-0min&attributes=[{','.join(_COUNTERS)}]"
)
MAX_ROWS: Final = 500_000
_LANES: Final = {"EDR": 25e9, "HDR": 50e9, "NDR": 100e9, "XDR": 200e9}  # IBTA, bits a second
_WIDTH: Final = re.compile(r"(?P<lanes>\d{1,2})[xX]", re.ASCII)
_SYSTEM: Final = re.compile(
    r"(?:^|/ )(?P<kind>Switch|Computer|Gateway|Router): (?P<name>[^/]{1,80})"
)


def report_of(ports: Any, alarms: Any = None, telemetry: Any = None) -> DeviceReport:
    """Return what UFM says of a fabric; what is not there or no number is passed over."""
    rows = [mapping_of(row) for row in _list(ports)]
    known = {str(row.get("name", "")): row for row in rows}
    return DeviceReport(
        values=[
            *(one for row in rows for one in _states(row)),
            *_counters(telemetry, known),
        ],
        neighbours=[*_neighbours(rows, known)],
        events=[*_alarms(alarms, known)],
        missing="" if rows else "UFM knows no ports",
    )


def _states(row: Mapping[str, Any]) -> Iterator[PortValue]:
    device, port = _device(row), _port(row)
    if not device or not port:
        return
    logical, physical = row.get("logical_state"), row.get("physical_state")
    is_up = logical == "Active"
    if isinstance(logical, str):
        yield PortValue(port, "link_up", float(is_up), "", device)
    if isinstance(physical, str):
        yield PortValue(port, "admin_up", float(physical != "Disabled"), "", device)
    lane_bps = _LANES.get(str(row.get("active_speed")))
    width = _WIDTH.fullmatch(str(row.get("active_width"))[:5])
    if is_up and lane_bps and width:
        yield PortValue(port, "rate_bps", lane_bps * int(width["lanes"]), "", device)


def _neighbours(
    rows: list[dict[str, Any]], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[SeenNeighbour]:
    for row in rows:
        peer = known.get(str(row.get("peer")), {})
        here, there = (_device(row), _port(row)), (_device(peer), _port(peer))
        if all(here) and all(there):
            yield SeenNeighbour(here[1], there[0], there[1], here[0])


def _counters(said: Any, known: Mapping[str, Mapping[str, Any]]) -> Iterator[PortValue]:
    """Give the last counters of each port: ``data``, by time, ``Ports``, by port's name."""
    times = mapping_of(said, "data")
    for time in sorted(times):  # as text: the year comes first
        for some in mapping_of(times, time).values():
            for name, cells in list(mapping_of(some).items())[:MAX_ROWS]:
                row = known.get(name, {})
                statistics = mapping_of(cells, "statistics")
                for key, metric in _COUNTERS.items():
                    count = number_of(statistics.get(key))
                    if count is not None and count >= 0 and _device(row) and _port(row):
                        yield PortValue(_port(row), metric, count, "", _device(row))


def _alarms(alarms: Any, known: Mapping[str, Mapping[str, Any]]) -> Iterator[SeenEvent]:
    for row in map(mapping_of, _list(alarms)):
        name = str(row.get("object_name", row.get("related_object_name", "")))
        path = str(row.get("object_path", row.get("related_object_path", "")))
        port = known.get(name, {})
        system = _SYSTEM.search(path[:200])
        device = _device(port) or (system["name"].strip() if system else "")
        words = [row.get(key) for key in ("severity", "name", "reason")]
        text = ": ".join(word[:160] for word in words if isinstance(word, str))
        key = f"{row.get('id')} {row.get('timestamp')}"
        if text:
            yield SeenEvent(_port(port), "ufm-alarm", text, key[:80], device)


def _device(row: Mapping[str, Any]) -> str:
    is_host = str(row.get("description", "")).startswith("Computer")
    name = row.get("node_description" if is_host else "system_name")
    return name[:80] if isinstance(name, str) else ""


def _port(row: Mapping[str, Any]) -> str:
    number = row.get("number")
    is_number = isinstance(number, int) and not isinstance(number, bool) and 0 < number < 100_000
    return str(number) if is_number else ""


def _list(value: Any) -> list[Any]:
    return value[:MAX_ROWS] if isinstance(value, list) else []
