"""Arista EOS: what its eAPI answers to show commands, in JSON.

Keys are those of EOS' command models as Arista's documentation and public test data print them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError
from netloom.ops.observe.addresses import port_towards
from netloom.ops.observe.devices import (
    DeviceReport,
    PortValue,
    SeenNeighbour,
    mapping_of,
    number_of,
    printable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["COMMANDS", "OPTIONAL", "answers_of", "is_refused", "report_of", "request"]

COMMANDS: Final = ("show interfaces", "show lldp neighbors", "show ip bgp summary vrf all")
OPTIONAL: Final = (
    "show interfaces transceiver",
    "show interfaces transceiver dom",
    "show priority-flow-control counters",
    "show version",
)
MAX_ROWS: Final = 10_000
_COUNTS: Final = {
    "inOctets": "received_bytes",
    "outOctets": "sent_bytes",
    "totalInErrors": "receive_errors",
    "totalOutErrors": "send_errors",
    "inDiscards": "receive_discards",
    "outDiscards": "send_discards",
}
_PACKETS: Final = {"received_packets": "in", "sent_packets": "out"}
_OPTIC: Final = {
    "rxPower": ("optic_receive_power_dbm", 1.0),
    "txPower": ("optic_transmit_power_dbm", 1.0),
    "txBias": ("optic_bias_a", 1e-3),
    "temperature": ("optic_temperature_c", 1.0),
    "voltage": ("optic_voltage_v", 1.0),
}
_LANE: Final = re.compile(r"[1-9]\d?", re.ASCII)
_PAUSES: Final = {"rxFrames": "pause_frames_received", "txFrames": "pause_frames_sent"}


def request(commands: Sequence[str]) -> bytes:
    """Return the JSON-RPC request that runs *commands*."""
    params = {"version": 1, "cmds": list(commands), "format": "json"}
    return json.dumps(
        {"jsonrpc": "2.0", "method": "runCmds", "params": params, "id": "netloom"}
    ).encode()


def is_refused(answer: Any) -> bool:
    """Return whether the switch refused a command, as one that its platform does not have."""
    return bool(mapping_of(answer, "error"))


def answers_of(answer: Any, commands: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what each command printed.

    Raises:
        LabError: the switch refused one, or this is no answer of eAPI.
    """
    if is_refused(answer):
        said = str(mapping_of(answer, "error").get("message", ""))
        raise LabError(
            what=f"EOS refuses ({printable(said, 200)})",
            remedy="let the user run show commands",
        )
    rows = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != len(commands):
        raise LabError(what="not an answer of eAPI", remedy="check the address")
    return {name: mapping_of(row) for name, row in zip(commands, rows, strict=True)}


def report_of(said: Mapping[str, Mapping[str, Any]]) -> DeviceReport:
    """Return what a switch says; what is not there or no number is passed over."""
    ports = mapping_of(said.get("show interfaces", {}), "interfaces")
    optics = mapping_of(said.get("show interfaces transceiver", {}), "interfaces")
    pauses = said.get("show priority-flow-control counters", {})
    return DeviceReport(
        values=[
            *_ports(ports),
            *_sessions(said.get("show ip bgp summary vrf all", {}), ports),
            *_scaled(optics, _OPTIC),
            *_lanes(mapping_of(said.get("show interfaces transceiver dom", {}), "interfaces")),
            *_scaled(
                mapping_of(pauses, "interfaceCounters"),
                {key: (metric, 1.0) for key, metric in _PAUSES.items()},
            ),
        ],
        neighbours=[*_neighbours(said.get("show lldp neighbors", {}).get("lldpNeighbors"))],
        missing="" if ports else "it shows no interfaces",
        versions=_versions(said.get("show version", {})),
    )


def _versions(said: Mapping[str, Any]) -> dict[str, str]:
    names = {"model": "modelName", "os": "version", "hardware": "hardwareRevision"}
    return {ours: str(said[theirs]) for ours, theirs in names.items() if theirs in said}


def _ports(ports: Mapping[str, Any]) -> Iterator[PortValue]:
    for port in list(ports)[:MAX_ROWS]:
        row = mapping_of(ports, port)
        is_up = row.get("lineProtocolStatus") == "up"
        if "lineProtocolStatus" in row:
            yield PortValue(port, "link_up", float(is_up))
        if "interfaceStatus" in row:
            yield PortValue(port, "admin_up", float(row["interfaceStatus"] != "disabled"))
        if (mtu := number_of(row.get("mtu"))) is not None:
            yield PortValue(port, "mtu_bytes", mtu)
        if is_up and (rate_bps := number_of(row.get("bandwidth"))):
            yield PortValue(port, "rate_bps", rate_bps)
        yield from _counts(port, mapping_of(row, "interfaceCounters"))


def _counts(port: str, row: Mapping[str, Any]) -> Iterator[PortValue]:
    for key, metric in _COUNTS.items():
        if (count := number_of(row.get(key))) is not None:
            yield PortValue(port, metric, count)
    for metric, way in _PACKETS.items():
        parts = [
            number_of(row.get(f"{way}{kind}Pkts")) for kind in ("Ucast", "Multicast", "Broadcast")
        ]
        if parts[0] is not None:
            yield PortValue(port, metric, sum(part or 0.0 for part in parts))


def _scaled(rows: Mapping[str, Any], names: Mapping[str, tuple[str, float]]) -> Iterator[PortValue]:
    for port in list(rows)[:MAX_ROWS]:
        row = mapping_of(rows, port)
        for key, (metric, scale) in names.items():
            if (value := number_of(row.get(key))) is not None:
                yield PortValue(port, metric, scale * value)


def _lanes(rows: Mapping[str, Any]) -> Iterator[PortValue]:
    """Give what each lane of an optic sends and receives; ``-`` is the whole module."""
    for port in list(rows)[:MAX_ROWS]:
        parameters = mapping_of(rows, port, "parameters")
        for key, (metric, scale) in _OPTIC.items():
            for lane, reading in mapping_of(parameters, key, "channels").items():
                value = number_of(reading)
                if value is None or not (lane == "-" or _LANE.fullmatch(lane)):
                    continue
                yield PortValue(port, metric, scale * value, "" if lane == "-" else f"lane:{lane}")


def _sessions(said: Mapping[str, Any], ports: Mapping[str, Any]) -> Iterator[PortValue]:
    prefixes = [(port, _prefix(mapping_of(ports, port))) for port in ports]
    vrfs = mapping_of(said, "vrfs")
    for peer, row in (pair for vrf in vrfs for pair in mapping_of(vrfs, vrf, "peers").items()):
        state = row.get("peerState") if isinstance(row, dict) else None
        if isinstance(state, str):
            yield PortValue(port_towards(peer, prefixes), "bgp_up", float(state == "Established"))


def _prefix(row: Mapping[str, Any]) -> str:
    rows = row.get("interfaceAddress")
    first = rows[0] if isinstance(rows, list) and rows else rows
    primary = mapping_of(first, "primaryIp")
    return f"{primary.get('address')}/{primary.get('maskLen')}"


def _neighbours(rows: Any) -> Iterator[SeenNeighbour]:
    for row in rows[:MAX_ROWS] if isinstance(rows, list) else ():
        words = [mapping_of(row).get(key) for key in ("port", "neighborDevice", "neighborPort")]
        port, device, there = (word[:80] if isinstance(word, str) else "" for word in words)
        if port and device and there:
            yield SeenNeighbour(port, device, there)
