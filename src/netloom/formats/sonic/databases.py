"""SONiC's databases: what its tables say of ports, queues, optics, neighbours and sessions.

Names of tables and fields are those of sonic-swss (orchagent's portsorch, port_rates.lua),
sonic-platform-daemons (xcvrd), sonic-dbsyncd (lldp_syncd) and sonic-buildimage (bgpmon).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.formats.sonic.quality_tables import quality_values
from netloom.ops.observe.addresses import port_towards
from netloom.ops.observe.devices import DeviceReport, PortValue, SeenNeighbour

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SonicTables", "report_of"]

if TYPE_CHECKING:
    Rows = Mapping[str, Mapping[str, str]]

_SAI_PORT: Final = {
    "IF_IN_OCTETS": "received_bytes",
    "IF_OUT_OCTETS": "sent_bytes",
    "IF_IN_ERRORS": "receive_errors",
    "IF_OUT_ERRORS": "send_errors",
    "IF_IN_DISCARDS": "receive_discards",
    "IF_OUT_DISCARDS": "send_discards",
    "IF_IN_FEC_CORRECTABLE_FRAMES": "fec_corrected_codewords",
    "IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "fec_uncorrectable_codewords",
    "IF_IN_FEC_SYMBOL_ERRORS": "fec_symbol_errors",
    "PAUSE_RX_PKTS": "pause_frames_received",
    "PAUSE_TX_PKTS": "pause_frames_sent",
}
_SUMS: Final = {
    "received_packets": ("IF_IN_UCAST_PKTS", "IF_IN_NON_UCAST_PKTS"),
    "sent_packets": ("IF_OUT_UCAST_PKTS", "IF_OUT_NON_UCAST_PKTS"),
}
_PFC: Final = re.compile(r"SAI_PORT_STAT_PFC_(?P<priority>[0-7])_(?P<way>RX|TX)_PKTS")
_SAI_QUEUE: Final = {
    "SAI_QUEUE_STAT_PACKETS": "queue_packets",
    "SAI_QUEUE_STAT_DROPPED_PACKETS": "queue_drops",
    "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": "queue_depth_bytes",
    "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "queue_peak_bytes",
    "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "ecn_marked_packets",
}
_FEC: Final = {"none": 0.0, "fc": 1.0, "rs": 2.0}
_RATES: Final = {"FEC_PRE_BER": "pre_fec_error_rate", "FEC_POST_BER": "post_fec_error_rate"}
_OPTIC: Final = {"temperature": "optic_temperature_c", "voltage": "optic_voltage_v"}
_LANE: Final = re.compile(r"(?P<way>rx|tx)(?P<lane>[1-8])(?P<what>power|bias)")
_LANES: Final = {
    ("rx", "power"): ("optic_receive_power_dbm", 1.0),
    ("tx", "power"): ("optic_transmit_power_dbm", 1.0),
    ("tx", "bias"): ("optic_bias_a", 1e-3),
}
_NUMBER: Final = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
MAC_SUBTYPE: Final = "3"  # of a port id: IEEE 802.1AB-2016, table 8-3


@dataclass(frozen=True, slots=True, kw_only=True)
class SonicTables:
    """What was read, by port.

    Attributes:
        configured: PORT of CONFIG_DB.
        applied: PORT_TABLE of APPL_DB.
        state: PORT_TABLE of STATE_DB.
        counters: COUNTERS of COUNTERS_DB.
        rates: RATES of COUNTERS_DB.
        queues: COUNTERS of queues, by ``Ethernet0:3``.
        optics: TRANSCEIVER_DOM_SENSOR of STATE_DB.
        neighbours: LLDP_ENTRY_TABLE of APPL_DB.
        sessions: NEIGH_STATE_TABLE of STATE_DB, by the peer's address or the port's name.
        addresses: Keys of INTERFACE of CONFIG_DB: port and prefix.
        metadata: DEVICE_METADATA and VERSIONS of CONFIG_DB.
        firmware: TRANSCEIVER_FIRMWARE_INFO of STATE_DB.
        quality: Tables of quality of service of CONFIG_DB, by name.
    """

    configured: Rows = field(default_factory=dict)
    applied: Rows = field(default_factory=dict)
    state: Rows = field(default_factory=dict)
    counters: Rows = field(default_factory=dict)
    rates: Rows = field(default_factory=dict)
    queues: Rows = field(default_factory=dict)
    optics: Rows = field(default_factory=dict)
    neighbours: Rows = field(default_factory=dict)
    sessions: Rows = field(default_factory=dict)
    addresses: tuple[tuple[str, str], ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    firmware: Rows = field(default_factory=dict)
    quality: Mapping[str, Rows] = field(default_factory=dict)


def report_of(tables: SonicTables) -> DeviceReport:
    """Return what a switch says; a field that is no number is passed over, as ``N/A`` is."""
    values = [
        *_states(tables),
        *_port_counters(tables.counters),
        *_by_name(tables.rates, _RATES),
        *_queues(tables.queues),
        *_optics(tables.optics),
        *_sessions(tables),
        *quality_values(tables.quality),
    ]
    return DeviceReport(
        values=values,
        neighbours=[*_neighbours(tables.neighbours)],
        aliases={
            port: alias for port, row in tables.configured.items() if (alias := row.get("alias"))
        },
        missing="" if tables.counters else "COUNTERS_DB has no port (is syncd running?)",
        versions=_versions(tables),
    )


def _versions(tables: SonicTables) -> dict[str, str]:
    """Return what it runs; Redis has the version of its schema, which follows the release."""
    names = {"model": "hwsku", "schema": "VERSION"}
    said = {ours: tables.metadata[key] for ours, key in names.items() if key in tables.metadata}
    optics = {
        f"optic {port}": row["active_firmware"]
        for port, row in tables.firmware.items()
        if row.get("active_firmware", "N/A") != "N/A"
    }
    return {**said, **optics}


def _states(tables: SonicTables) -> Iterator[PortValue]:
    for port, row in tables.applied.items():
        if (up := row.get("oper_status")) in {"up", "down"}:
            yield PortValue(port, "link_up", float(up == "up"))
        if (up := row.get("admin_status")) in {"up", "down"}:
            yield PortValue(port, "admin_up", float(up == "up"))
        if (mtu := _number(row.get("mtu"))) is not None:
            yield PortValue(port, "mtu_bytes", mtu)
        if (fec := tables.state.get(port, {}).get("fec", row.get("fec"))) in _FEC:
            yield PortValue(port, "fec_mode", _FEC[fec])
        megabits = _number(tables.state.get(port, {}).get("speed"))
        if megabits and row.get("oper_status") == "up":
            yield PortValue(port, "rate_bps", 1e6 * megabits)


def _port_counters(rows: Rows) -> Iterator[PortValue]:
    yield from _by_name(rows, {f"SAI_PORT_STAT_{sai}": name for sai, name in _SAI_PORT.items()})
    for port, row in rows.items():
        for metric, parts in _SUMS.items():
            counts = [_number(row.get(f"SAI_PORT_STAT_{part}")) for part in parts]
            if counts[0] is not None:
                yield PortValue(port, metric, sum(count or 0.0 for count in counts))
        for name, text in row.items():
            match, count = _PFC.fullmatch(name), _number(text)
            if match and count is not None:
                metric = "pause_frames_received" if match["way"] == "RX" else "pause_frames_sent"
                yield PortValue(port, metric, count, f"priority:{match['priority']}")


def _queues(rows: Rows) -> Iterator[PortValue]:
    for key, row in rows.items():
        port, _, queue = key.rpartition(":")
        if port and queue.isdecimal() and len(queue) < 4:
            for one in _by_name({port: row}, _SAI_QUEUE):
                yield one._replace(inside=f"queue:{int(queue)}")


def _optics(rows: Rows) -> Iterator[PortValue]:
    yield from _by_name(rows, _OPTIC)
    for port, row in rows.items():
        for name, text in row.items():
            match, value = _LANE.fullmatch(name), _number(text)
            known = _LANES.get((match["way"], match["what"])) if match else None
            if match and known and value is not None:
                metric, scale = known
                yield PortValue(port, metric, scale * value, f"lane:{match['lane']}")


def _sessions(tables: SonicTables) -> Iterator[PortValue]:
    for peer, row in tables.sessions.items():
        if "state" in row:
            port = peer if peer in tables.applied else port_towards(peer, tables.addresses)
            yield PortValue(port, "bgp_up", float(row["state"] == "Established"))


def _neighbours(rows: Rows) -> Iterator[SeenNeighbour]:
    """Give what ports see; a port whose id is a MAC address is called by its description."""
    for port, row in rows.items():
        by_mac = row.get("lldp_rem_port_id_subtype") == MAC_SUBTYPE
        there = row.get("lldp_rem_port_desc" if by_mac else "lldp_rem_port_id", "")
        device = row.get("lldp_rem_sys_name", "")
        if device and there:
            yield SeenNeighbour(port, device[:80], there[:80])


def _by_name(rows: Rows, names: Mapping[str, str]) -> Iterator[PortValue]:
    for port, row in rows.items():
        for field_name, metric in names.items():
            value = _number(row.get(field_name))
            if value is not None:
                yield PortValue(port, metric, value)


def _number(text: str | None) -> float | None:
    if text is None or not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text.strip())
    return value if math.isfinite(value) else None
