"""SONiC: what a config_db.json says of each port."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.formats.sonic.config_db import BY_SWITCH
from netloom.ops.deploy.isolation import SwitchPorts
from netloom.ops.deploy.ports import Marks, PortQos

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_hosts", "read_ports"]

Table = dict[str, Any]
UNBOUNDED_TH: Final = 7  # 2^7 times what is free: as SONiC writes for queues that never drop
ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, IndexError)


def read_hosts(text: str, where: str) -> SwitchPorts:
    """Return where a config_db.json puts the hosts' ports.

    Raises:
        SpecError: it is not a config_db, or a number in it is none.
    """
    try:
        tables = json.loads(text)
        rows: Table = tables.get("INTERFACE", {})
        pairs = (key.split("|") for key in rows if "|" in key)
        return SwitchPorts(
            where=where,
            vrf_of={pair[1]: str(rows[pair[0]].get("vrf_name", "")) for pair in pairs},
            vnis={name: int(row.get("vni", 0)) for name, row in tables.get("VRF", {}).items()},
            up=frozenset(n for n, row in tables["PORT"].items() if row["admin_status"] == "up"),
        )
    except ODD as error:
        raise SpecError(
            what=f"{where}: is not a config_db.json ({error!r})", remedy="render it again"
        ) from error


def read_ports(text: str, where: str) -> dict[str, PortQos]:
    """Return the lossless settings of every port, by its name.

    Raises:
        SpecError: it is not a config_db, or a number in it is none.
    """
    try:
        tables = json.loads(text)
        return {name: _port(tables, name, where) for name in tables["PORT"]}
    except ODD as error:
        raise SpecError(
            what=f"{where}: is not a config_db.json of RoCE ({error!r})", remedy="render it again"
        ) from error


def _port(tables: dict[str, Table], name: str, where: str) -> PortQos:
    port, maps = tables["PORT"][name], tables.get("PORT_QOS_MAP", {}).get(name, {})
    lengths: Table = next(iter(tables.get("CABLE_LENGTH", {}).values()), {})
    groups = {int(number): row for number, row in _of_port(tables, "BUFFER_PG", name)}
    profiles = tables.get("BUFFER_PROFILE", {})
    return PortQos(
        where=f"{where}: {name}",
        rate_bps=1e6 * float(port["speed"]),
        length_m=float(str(lengths[name]).removesuffix("m")),
        mtu_bytes=int(port.get("mtu", 9100)),  # SONiC's default
        priority_of=_map(tables, "DSCP_TO_TC_MAP", maps.get("dscp_to_tc_map")),
        group_of=_map(tables, "TC_TO_PRIORITY_GROUP_MAP", maps.get("tc_to_pg_map")),
        queue_of=_map(tables, "TC_TO_QUEUE_MAP", maps.get("tc_to_queue_map")),
        held_by=_map(tables, "MAP_PFC_PRIORITY_TO_QUEUE", maps.get("pfc_to_queue_map")),
        pausing=_listed(maps.get("pfc_enable")),
        watched=_watched(tables, name, maps),
        room_of={g: _room(profiles, row["profile"]) for g, row in groups.items()},
        never_drops=frozenset(_never_drops(tables, name)),
        marks=dict(_marks(tables, name)),
    )


def _room(profiles: Table, name: str) -> int:
    """Return the headroom of a profile; some where the switch works it out by itself."""
    return 1 if name == BY_SWITCH else int(profiles[name].get("xoff", 0))


def _of_port(tables: dict[str, Table], table: str, name: str) -> Iterator[tuple[str, Table]]:
    """Yield the rows of a port, one for each number: ``Ethernet0|3-4`` is two."""
    for key, row in tables.get(table, {}).items():
        port, _, span = key.partition("|")
        if port == name:
            first, _, last = span.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield str(number), row


def _map(tables: dict[str, Table], table: str, name: str | None) -> dict[int, int]:
    row: Table = tables.get(table, {})[name] if name else {}
    return {int(key): int(value) for key, value in row.items()}


def _listed(text: object) -> frozenset[int]:
    return frozenset(int(one) for one in str(text or "").split(",") if one)


def _watched(tables: dict[str, Table], name: str, maps: Table) -> frozenset[int]:
    watched = name in tables.get("PFC_WD", {})
    return _listed(maps.get("pfcwd_sw_enable")) if watched else frozenset()


def _never_drops(tables: dict[str, Table], name: str) -> Iterator[int]:
    """Yield the queues that may take what all ingress pools and their headroom hold."""
    pools = [row for row in tables.get("BUFFER_POOL", {}).values() if row["type"] == "ingress"]
    most = sum(int(pool.get("size", 0)) + int(pool.get("xoff", 0)) for pool in pools)
    for number, row in _of_port(tables, "BUFFER_QUEUE", name):
        profile = tables["BUFFER_PROFILE"][row["profile"]]
        by_share = int(profile.get("dynamic_th", -8)) >= UNBOUNDED_TH
        if by_share or int(profile.get("static_th", 0)) >= most > 0:
            yield int(number)


def _marks(tables: dict[str, Table], name: str) -> Iterator[tuple[int, Marks]]:
    for number, row in _of_port(tables, "QUEUE", name):
        profile = tables.get("WRED_PROFILE", {}).get(str(row.get("wred_profile")), {})
        is_on = str(profile.get("wred_green_enable")).lower() == "true"
        if is_on and profile.get("ecn") in {"ecn_all", "ecn_green"}:
            yield (
                int(number),
                Marks(
                    least_bytes=int(profile["green_min_threshold"]),
                    most_bytes=int(profile["green_max_threshold"]),
                    mark_pct=int(profile.get("green_drop_probability", 100)),
                ),
            )
