"""A config_db.json, written by netloom or not, as a switch.

Tables and fields are those of SONiC's Configuration.md (sonic-buildimage, src/sonic-yang-models/
doc). References may be written as in releases before 202106: ``[DSCP_TO_TC_MAP|AZURE]``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.ops.deploy.device import Bfd, BgpNeighbour, DeviceConfig, PortConfig
from netloom.ops.deploy.ports import Marks
from netloom.ops.deploy.structure import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.structure import Setting

__all__ = ["is_config_db", "read_device", "settings"]

Tables = dict[str, dict[str, dict[str, Any]]]

_PORT_WORDS: Final = (
    "alias index lanes speed mtu fec admin_status description autoneg tpid pfc_asym "
    "adv_speeds interface_type adv_interface_types asic_port_name role link_training "
    "dom_polling subport core_id core_port_id num_voq coreId corePortId numVoq"
)
_PORT_QOS_WORDS: Final = (
    "dscp_to_tc_map tc_to_queue_map tc_to_pg_map pfc_to_queue_map pfc_to_pg_map pfc_enable "
    "pfcwd_sw_enable dot1p_to_tc_map tc_to_dscp_map tc_to_dot1p_map scheduler"
)
_WATCHDOG_WORDS: Final = (
    "action detection_time restoration_time POLL_INTERVAL BIG_RED_SWITCH pfc_stat_history"
)
_TABLES_WORDS: Final = (
    "AAA BGP_DEVICE_GLOBAL BGP_GLOBALS BUFFER_PG BUFFER_POOL BUFFER_PORT_EGRESS_PROFILE_LIST "
    "BUFFER_PORT_INGRESS_PROFILE_LIST BUFFER_PROFILE BUFFER_QUEUE CABLE_LENGTH "
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER DEVICE_NEIGHBOR DEVICE_NEIGHBOR_METADATA "
    "DNS_NAMESERVER DSCP_TO_TC_MAP FEATURE FLEX_COUNTER_TABLE KDUMP LLDP LLDP_PORT LOOPBACK "
    "LOGGER LOOPBACK_INTERFACE LOSSLESS_TRAFFIC_PATTERN MAP_PFC_PRIORITY_TO_QUEUE "
    "MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG NTP NTP_KEY NTP_SERVER SCHEDULER SNMP "
    "SNMP_COMMUNITY SNMP_USER SYSLOG_CONFIG SYSLOG_SERVER TACPLUS TACPLUS_SERVER "
    "TC_TO_PRIORITY_GROUP_MAP TC_TO_QUEUE_MAP VERSIONS VLAN VLAN_INTERFACE VRF VXLAN_EVPN_NVO "
    "VXLAN_TUNNEL VXLAN_TUNNEL_MAP WRED_PROFILE ZTP"
)
DEFAULT_MTU_BYTES: Final = 9100
# BFD of a session that only says that it is on: SONiC's bfdd defaults (recalled).
DEFAULT_BFD: Final = Bfd(interval_ms=300, multiplier=3)
# Tables that rules read or that cannot make a rule wrong; any other is listed. Of those with
# fields, a field that is not there is listed as well.
_FIELDS: Final[dict[str, frozenset[str] | None]] = {
    "DEVICE_METADATA": None,
    "PORT": frozenset(_PORT_WORDS.split()),
    "PORT_QOS_MAP": frozenset(_PORT_QOS_WORDS.split()),
    "QUEUE": frozenset({"scheduler", "wred_profile"}),
    "BREAKOUT_CFG": frozenset({"brkout_mode", "port"}),
    "PFC_WD": frozenset(_WATCHDOG_WORDS.split()),
    "BGP_NEIGHBOR": None,
    "INTERFACE": None,
    **dict.fromkeys(
        _TABLES_WORDS.split(),
        None,
    ),
}
_MODE: Final = re.compile(r"(\d{1,2})x(\d{1,4})G", re.ASCII)
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, IndexError)


def is_config_db(text: str) -> bool:
    """Return whether a text is such a file."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and ("PORT" in found or "DEVICE_METADATA" in found)


def settings(text: str) -> list[Setting]:
    """Return every value with the table, key and field that it stands under.

    Raises:
        SpecError: it is not a config_db.json.
    """
    return list(leaves(_tables(text, "")))


def read_device(text: str, where: str) -> DeviceConfig:
    """Return the switch that a config_db.json describes.

    Raises:
        SpecError: it is not a config_db.json, or a value in it is none of its kind.
    """
    tables = _tables(text, where)
    try:
        return _device(tables, where)
    except _ODD as error:
        raise SpecError(
            what=f"{where}: is not a config_db.json ({error!r})",
            remedy="take it with 'sudo config save' on the switch",
        ) from error


def _tables(text: str, where: str) -> Tables:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(what=f"{where}: is not JSON ({error})", remedy="correct it") from error
    if not isinstance(found, dict) or not all(
        isinstance(table, dict) and all(isinstance(row, dict) for row in table.values())
        for table in found.values()
    ):
        raise SpecError(
            what=f"{where}: is not a config_db.json: tables of rows of fields", remedy="correct it"
        )
    return found


def _device(tables: Tables, where: str) -> DeviceConfig:
    own = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    asn = str(own.get("bgp_asn", ""))
    splits = dict(_splits(tables))
    return DeviceConfig(
        where=where,
        system="sonic",
        hostname=str(own.get("hostname", "")),
        asn=int(asn) if asn.isdecimal() and int(asn) else None,
        router_id=str(own.get("bgp_router_id", "")),
        addresses=tuple(
            _address(key)
            for table in ("LOOPBACK_INTERFACE", "VLAN_INTERFACE", "MGMT_INTERFACE")
            for key in tables.get(table, {})
            if "|" in key
        ),
        ports={name: _port(tables, name, splits) for name in tables.get("PORT", {})},
        neighbours=tuple(_neighbours(tables)),
        unknown=tuple(_unknown(tables)),
    )


def _address(key: str) -> str:
    return key.rpartition("|")[2]


def _unknown(tables: Tables) -> Iterator[str]:
    for table, rows in tables.items():
        known = _FIELDS.get(table)
        if table not in _FIELDS:
            yield f"{table} ({len(rows)} rows)"
        elif known is not None:
            for key, row in rows.items():
                yield from (f"{table}|{key} {name}" for name in row if name not in known)


def _splits(tables: Tables) -> Iterator[tuple[int, tuple[int, float]]]:
    """Yield ways and rate of each split cage, by the number of its first port."""
    for name, row in tables.get("BREAKOUT_CFG", {}).items():
        mode = _MODE.match(str(row.get("brkout_mode", "")))
        number = name.removeprefix("Ethernet")
        if mode and number.isdecimal():
            yield int(number), (int(mode[1]), 1e9 * int(mode[2]))


def _port(tables: Tables, name: str, splits: dict[int, tuple[int, float]]) -> PortConfig:
    row, maps = tables["PORT"][name], _maps(tables, name)
    addresses = tuple(
        _address(key) for key in tables.get("INTERFACE", {}) if key.startswith(f"{name}|")
    )
    pausing = _listed(maps.get("pfc_enable"))
    number = name.removeprefix("Ethernet")
    at = max((n for n in splits if n <= int(number)), default=None) if number.isdecimal() else None
    ways, way_rate = splits[at] if at is not None else (None, None)
    return PortConfig(
        name=name,
        is_up=row.get("admin_status", "down") == "up",
        uses=tuple(_uses(tables, name, row, addresses)),
        mtu_bytes=int(row.get("mtu", DEFAULT_MTU_BYTES)),
        rate_bps=1e6 * float(row["speed"]) if row.get("speed") else None,
        num_ways=ways,
        way_rate_bps=way_rate,
        addresses=addresses,
        pausing=pausing,
        is_watched=bool(pausing)
        and (name in tables.get("PFC_WD", {}) or _is_watched_by_default(tables)),
        priority_of=_map(tables, "DSCP_TO_TC_MAP", maps.get("dscp_to_tc_map")),
        queue_of=_map(tables, "TC_TO_QUEUE_MAP", maps.get("tc_to_queue_map")),
        marks=dict(_marks(tables, name)),
    )


def _maps(tables: Tables, name: str) -> dict[str, Any]:
    """Return the maps of a port: its own, those of a list it is in, and those of all."""
    rows = tables.get("PORT_QOS_MAP", {})
    found = dict(rows.get("global", {}))
    for key, row in rows.items():
        if name in key.split(","):
            found |= row
    return found


def _uses(
    tables: Tables, name: str, row: dict[str, Any], addresses: tuple[str, ...]
) -> Iterator[str]:
    if addresses or name in tables.get("INTERFACE", {}):
        yield "an address"
    if row.get("description"):
        yield "a description"
    if name in tables.get("DEVICE_NEIGHBOR", {}):
        yield "a neighbour"
    if any(name == key.rpartition("|")[2] for key in tables.get("BGP_NEIGHBOR", {})):
        yield "a BGP session"


def _is_watched_by_default(tables: Tables) -> bool:
    own = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    return own.get("default_pfcwd_status") == "enable"


def _reference(value: object) -> str:
    """Return the name in ``AZURE`` or ``[DSCP_TO_TC_MAP|AZURE]``."""
    return str(value or "").strip("[]").rpartition("|")[2]


def _map(tables: Tables, table: str, name: object) -> dict[int, int]:
    row = tables.get(table, {}).get(_reference(name), {})
    return {int(key): int(value) for key, value in row.items()}


def _listed(value: object) -> frozenset[int]:
    return frozenset(int(one) for one in str(value or "").split(",") if one.strip())


def _marks(tables: Tables, name: str) -> Iterator[tuple[int, Marks]]:
    for key, row in tables.get("QUEUE", {}).items():
        ports, _, span = key.rpartition("|")
        if name not in ports.split(",") or not row.get("wred_profile"):
            continue
        profile = tables.get("WRED_PROFILE", {}).get(_reference(row["wred_profile"]), {})
        is_on = str(profile.get("wred_green_enable")).lower() == "true"
        if is_on and profile.get("ecn") in {"ecn_all", "ecn_green"}:
            marks = Marks(
                least_bytes=int(profile["green_min_threshold"]),
                most_bytes=int(profile["green_max_threshold"]),
                mark_pct=int(profile.get("green_drop_probability", 100)),
            )
            first, _, last = span.partition("-")
            for number in range(int(first), min(int(last or first), 63) + 1):
                yield number, marks


def _neighbours(tables: Tables) -> Iterator[BgpNeighbour]:
    """Yield the sessions of config_db; an admin_status of down is a session that is not meant."""
    for key, row in tables.get("BGP_NEIGHBOR", {}).items():
        asn = str(row.get("asn", row.get("remote_asn", "")))
        hold = str(row.get("holdtime", ""))
        if row.get("admin_status", "up") == "up":
            yield BgpNeighbour(
                name=_address(key),
                remote_as=int(asn) if asn.isdecimal() else None,
                bfd=DEFAULT_BFD if str(row.get("bfd", "")).lower() == "true" else None,
                hold_s=int(hold) if hold.isdecimal() else None,
            )
