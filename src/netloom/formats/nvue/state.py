"""NVUE: what its REST API says, as NVIDIA's documentation of Cumulus Linux prints it.

``GET /nvue_v1/interface?rev=operational`` is an object by interface; an interface that is up has
``"state": {"up": {}}``, neighbours are in ``lldp.neighbor`` by the name of the device, counters of
queues and pauses in ``counters.qos``. Optics are in ``/nvue_v1/platform/transceiver``, numbers
with their units: ``"0.8541 mW / -0.68 dBm"``. Sessions are those of BGP, by the peer's address or
the port's name, with ``"state": "established"``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from netloom.ops.observe.addresses import port_towards
from netloom.ops.observe.devices import (
    DeviceReport,
    PortValue,
    SeenNeighbour,
    mapping_of,
    number_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["INTERFACES", "SESSIONS", "SYSTEM", "TRANSCEIVERS", "report_of"]

INTERFACES: Final = "/nvue_v1/interface?rev=operational"
SESSIONS: Final = "/nvue_v1/vrf/default/router/bgp/neighbor?rev=operational"
SYSTEM: Final = "/nvue_v1/system?rev=operational"
TRANSCEIVERS: Final = "/nvue_v1/platform/transceiver?rev=operational"

MAX_ROWS: Final = 10_000
_STATS: Final = {
    "in-bytes": "received_bytes",
    "in-pkts": "received_packets",
    "in-errors": "receive_errors",
    "in-drops": "receive_discards",
    "out-bytes": "sent_bytes",
    "out-pkts": "sent_packets",
    "out-errors": "send_errors",
    "out-drops": "send_discards",
}
_SPEED: Final = re.compile(r"(?P<value>\d{1,6})(?P<unit>[MG])", re.ASCII)
_UNITS: Final = {"M": 1e6, "G": 1e9}


_PFC: Final = {
    "rx-pause-frames": "pause_frames_received",
    "tx-pause-frames": "pause_frames_sent",
}
_QUEUE: Final = {
    "tx-frames": "queue_packets",
    "tx-uc-buffer-discards": "queue_drops",
    "ecn-marked-packets": "ecn_marked_packets",
}
_OPTIC: Final = {  # where, with which unit, what it is in ours
    ("temperature", "temperature"): ("degrees C", "optic_temperature_c", 1.0),
    ("voltage", "voltage"): ("V", "optic_voltage_v", 1.0),
}
_CHANNEL: Final = {
    ("rx-power", "power"): ("dBm", "optic_receive_power_dbm", 1.0),
    ("tx-power", "power"): ("dBm", "optic_transmit_power_dbm", 1.0),
    ("tx-bias-current", "current"): ("mA", "optic_bias_a", 1e-3),
}
_LANE: Final = re.compile(r"(?:channel-)?(?P<lane>[1-9]\d?)", re.ASCII)
_MEASURE: Final = re.compile(
    r"(?P<value>-?\d{1,9}(?:\.\d{1,9})?) ?(?P<unit>[A-Za-z ]{1,12})", re.ASCII
)


def report_of(
    answer: Any, optics: Any = None, sessions: Any = None, system: Any = None
) -> DeviceReport:
    """Return what a switch says; what is not there or no number is passed over."""
    ports = mapping_of(answer)
    some = {port: mapping_of(ports, port) for port in list(ports)[:MAX_ROWS]}
    values = [
        *(one for port, row in some.items() for one in _port(port, mapping_of(row, "link"))),
        *(one for port, row in some.items() for one in _queues(port, row)),
        *_sessions(sessions, some),
        *_optics(optics),
    ]
    neighbours = [one for port, row in some.items() for one in _neighbours(port, row)]
    has_lldp = any("lldp" in row for row in some.values())
    return DeviceReport(
        values=values,
        neighbours=neighbours if has_lldp else None,
        missing="" if values else "it shows no interfaces",
        versions=_versions(mapping_of(system)),
    )


def _neighbours(port: str, row: Mapping[str, Any]) -> Iterator[SeenNeighbour]:
    found = mapping_of(row, "lldp", "neighbor")
    for name in list(found)[:10]:
        device = mapping_of(found, name, "chassis").get("system-name", name)
        there = mapping_of(found, name, "port")
        by_mac = there.get("type") == "mac"
        label = there.get("description" if by_mac else "name")
        if isinstance(device, str) and isinstance(label, str) and device and label:
            yield SeenNeighbour(port, device[:80], label[:80])


def _queues(port: str, row: Mapping[str, Any]) -> Iterator[PortValue]:
    qos = mapping_of(row, "counters", "qos")
    for table, kind, names in (
        ("pfc-stats", "priority", _PFC),
        ("egress-queue-stats", "queue", _QUEUE),
    ):
        rows = mapping_of(qos, table)
        for number in list(rows)[:16]:
            cells = mapping_of(rows, number)
            for key, metric in names.items():
                count = number_of(cells.get(key))
                if count is not None and re.fullmatch(r"\d", number, re.ASCII):
                    yield PortValue(port, metric, count, f"{kind}:{number}")


def _sessions(answer: Any, ports: Mapping[str, Mapping[str, Any]]) -> Iterator[PortValue]:
    prefixes = [
        (port, prefix) for port, row in ports.items() for prefix in mapping_of(row, "ip", "address")
    ]
    rows = mapping_of(answer)
    for peer in list(rows)[:MAX_ROWS]:
        state = mapping_of(rows, peer).get("state")
        if isinstance(state, str):
            port = peer if peer in ports else port_towards(peer, prefixes)
            yield PortValue(port, "bgp_up", float(state.lower() == "established"))


def _optics(answer: Any) -> Iterator[PortValue]:
    modules = mapping_of(answer)
    for port in list(modules)[:MAX_ROWS]:
        module = mapping_of(modules, port)
        yield from _measures(port, module, _OPTIC, "")
        channels = mapping_of(module, "channel")
        for name in list(channels)[:16]:
            if match := _LANE.fullmatch(name):
                lane = f"lane:{match['lane']}"
                yield from _measures(port, mapping_of(channels, name), _CHANNEL, lane)


def _measures(
    port: str,
    row: Mapping[str, Any],
    names: Mapping[tuple[str, str], tuple[str, str, float]],
    inside: str,
) -> Iterator[PortValue]:
    for (key, inner), (unit, metric, scale) in names.items():
        text = mapping_of(row, key).get(inner)
        for piece in text[:80].split("/") if isinstance(text, str) else ():
            match = _MEASURE.fullmatch(piece.strip())
            if match and match["unit"].strip() == unit:
                yield PortValue(port, metric, scale * float(match["value"]), inside)


def _versions(system: Mapping[str, Any]) -> dict[str, str]:
    """Return what it runs: ``build`` or ``product-release``, as the release has it."""
    build = system.get("build") or system.get("product-release")
    model = system.get("platform") or system.get("product-name")
    named = {"os": build, "model": model}
    return {name: text for name, text in named.items() if isinstance(text, str)}


def _port(port: str, link: Mapping[str, Any]) -> Iterator[PortValue]:
    state = link.get("state")
    word = next(iter(state), "") if isinstance(state, dict) else state
    if word in ("up", "down"):
        yield PortValue(port, "link_up", float(word == "up"))
    if (mtu := number_of(link.get("mtu"))) is not None:
        yield PortValue(port, "mtu_bytes", mtu)
    speed = _SPEED.fullmatch(str(link.get("speed"))[:20])
    if speed and word == "up":
        yield PortValue(port, "rate_bps", int(speed["value"]) * _UNITS[speed["unit"]])
    stats = mapping_of(link, "stats")
    for key, metric in _STATS.items():
        if (count := number_of(stats.get(key))) is not None:
            yield PortValue(port, metric, count)
