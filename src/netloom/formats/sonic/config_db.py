"""SONiC: the config_db.json of a switch.

Values are strings, as config_db has them. Routing is left to the one FRR file of the same switch
(``docker_routing_config_mode`` is ``split-unified``). What only the device knows (platform, SKU,
MAC address) is left out, so that the file is loaded on top of what is there.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.formats.sonic.site_tables import site_tables
from netloom.ops.deploy.quality import ALPHA, MTU_BYTES
from netloom.ops.deploy.rules import LosslessPort, SwitchQos
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.quality import LosslessProfile, Quality
    from netloom.ops.plant import Cable, Port
    from netloom.ops.site import Site
    from netloom.ops.underlay import BgpRouter

    Ports = dict[str, tuple[Port, Cable]]

__all__ = ["config_db", "config_db_text", "frr_router", "port_name", "read_qos"]

CAGE_LANES: Final = 8  # electrical lanes behind a cage at its fastest: OSFP, QSFP-DD
ROLES: Final = ("ToRRouter", "LeafRouter", "SpineRouter")  # SONiC's words for tiers 1, 2 and 3
PRIORITIES: Final = range(8)
DSCPS: Final = range(64)
MAP: Final = "ROCE"  # what the maps and the WRED profile are called
VTEP: Final = "vtep"
FIRST_VLAN: Final = 3001  # of those that stand for VNIs; they are on no port
BY_SWITCH: Final = "NULL"  # the profile of a group whose headroom the switch works out
DYNAMIC_TH: Final = f"{math.log2(ALPHA):.0f}"
_POOL: Final = "ingress_lossless_pool"
_EGRESS_POOL: Final = "egress_lossless_pool"

Table = dict[str, Any]


def config_db_text(intent: Intent, number: int) -> str:
    """Return the file's text, keys in a fixed order."""
    return json.dumps(config_db(intent, number), indent=2, sort_keys=True) + "\n"


def config_db(intent: Intent, number: int) -> dict[str, Table]:
    """Return the tables of switch *number* of the plant; those of lossless traffic where it is."""
    site = intent.site
    ports = _ports(site, number)
    lengths = {name: f"{site.length_m(cable):.0f}m" for name, (_, cable) in ports.items()}
    tables = {
        "DEVICE_METADATA": {"localhost": _metadata(intent, number)},
        "PORT": {name: _port(intent, number, cable) for name, (_, cable) in ports.items()},
        "CABLE_LENGTH": {"AZURE": lengths},
        "INTERFACE": _interfaces(intent, number),
        "LOOPBACK_INTERFACE": {
            "Loopback0": {},
            f"Loopback0|{intent.router(number).loopback}/32": {},
        },
    }
    tables |= _breakouts(site, ports) | site_tables(intent, number) | _overlay(intent, number)
    return tables if intent.quality is None else tables | _lossless(site, ports, intent.quality)


def _breakouts(site: Site, ports: Ports) -> dict[str, Table]:
    """Return how each split cage is split, by its first port: ``2x400G``.

    The mode must be one that the platform lists for the cage (platform.json).
    """
    rows = {}
    for port, cable in ports.values():
        cage = site.cage(port)
        if cage.num_slots > 1:
            name = f"Ethernet{(cage.number - 1) * CAGE_LANES}"
            rows[name] = {"brkout_mode": f"{cage.num_slots}x{cable.rate_bps / 1e9:.0f}G"}
    return {"BREAKOUT_CFG": rows} if rows else {}


def _overlay(intent: Intent, number: int) -> dict[str, Table]:
    """Return the tables of tenants: VRFs, and for each a VLAN that stands for its VNI."""
    overlay = intent.overlay(number)
    if overlay is None or not overlay.vrfs:
        return {}
    vlans = {f"Vlan{FIRST_VLAN + place}": vrf for place, vrf in enumerate(overlay.vrfs)}
    maps = {
        f"{VTEP}|map_{vrf.vni}_{vlan}": {"vlan": vlan, "vni": str(vrf.vni)}
        for vlan, vrf in vlans.items()
    }
    return {
        "VRF": {vrf.name: {"vni": str(vrf.vni)} for vrf in overlay.vrfs},
        "VLAN": {vlan: {"vlanid": vlan.removeprefix("Vlan")} for vlan in vlans},
        "VLAN_INTERFACE": {vlan: {"vrf_name": vrf.name} for vlan, vrf in vlans.items()},
        "VXLAN_TUNNEL": {VTEP: {"src_ip": str(intent.router(number).loopback)}},
        "VXLAN_EVPN_NVO": {"nvo": {"source_vtep": VTEP}},
        "VXLAN_TUNNEL_MAP": maps,
    }


def _lossless(site: Site, ports: Ports, quality: Quality) -> dict[str, Table]:
    names = list(ports)
    return {
        **_maps(quality),
        "PORT_QOS_MAP": {name: _port_qos(quality) for name in names},
        **_buffers(site, ports, quality),
        **_queues(names, quality),
        "PFC_WD": _watchdog(names, quality),
    }


def port_name(site: Site, port: Port) -> str:
    """Return what SONiC calls a port: by the first of its lanes, counted from 0."""
    return f"Ethernet{_lanes(site, port)[0] - 1}"


def frr_router(intent: Intent, number: int) -> BgpRouter:
    """Return switch *number* of the plant with its peers called as SONiC calls their ports."""
    names = (
        port_name(intent.site, own)
        for own, peer in (peer_of(cable, number) for cable in intent.site.cables_of[number])
        if not intent.site.is_host(peer)
    )
    return replace(intent.router(number), peers=tuple(names))


def _lanes(site: Site, port: Port) -> range:
    """Return the lanes of a port, counted from 1: its share of those of its cage."""
    cage = site.cage(port)
    count = max(1, CAGE_LANES // cage.num_slots)
    first = (cage.number - 1) * CAGE_LANES + cage.slot * count + 1
    return range(first, first + count)


def _ports(site: Site, number: int) -> Ports:
    found = {}
    for cable in site.cables_of[number]:
        own, _ = peer_of(cable, number)
        found[port_name(site, own)] = (own, cable)
    return found


def _metadata(intent: Intent, number: int) -> dict[str, str]:
    site = intent.site
    tier = site.plant.devices[number].tier
    return {
        "hostname": site.hostnames[number],
        "type": ROLES[min(tier, len(ROLES)) - 1],
        "bgp_asn": str(intent.router(number).asn),
        "docker_routing_config_mode": "split-unified",
        "buffer_model": site.scenario.site.buffer_model,
    }


def _port(intent: Intent, number: int, cable: Cable) -> dict[str, str]:
    """Return a port; lanes in the order of the chip, which a platform may have wired otherwise."""
    site = intent.site
    port, peer = peer_of(cable, number)
    cage = site.cage(port)
    letter = "abcdefgh"[cage.slot] if cage.num_slots > 1 else ""
    is_off = site.is_host(peer) and intent.is_shut(peer.device)
    return {
        "alias": f"etp{cage.number}{letter}",
        "index": str(cage.number),
        "lanes": ",".join(str(lane) for lane in _lanes(site, port)),
        "speed": f"{cable.rate_bps / 1e6:.0f}",
        "mtu": str(MTU_BYTES),
        "fec": "rs",
        "admin_status": "down" if is_off else "up",
        "description": f"{site.hostnames[peer.device]} {site.label(peer)}",
    }


def _interfaces(intent: Intent, number: int) -> Table:
    table: Table = {}
    for cable in intent.site.cables_of[number]:
        own, peer = peer_of(cable, number)
        name = port_name(intent.site, own)
        if not intent.site.is_host(peer):
            table[name] = {"ipv6_use_link_local_only": "enable"}
        elif not intent.is_shut(peer.device):
            vrf = intent.vrf(peer.device)
            table[name] = {"vrf_name": vrf.name} if vrf else {}
            table[f"{name}|{intent.host_link(peer.device).switch_address}"] = {}
    return table


def _maps(quality: Quality) -> dict[str, Table]:
    """Return the maps; everything but RoCE and its notifications goes to class 0."""
    own = {quality.dscp: quality.priority, quality.cnp_dscp: quality.cnp_priority}
    straight = {str(priority): str(priority) for priority in PRIORITIES}
    groups = {p: str(p if p == quality.priority else 0) for p in PRIORITIES}
    return {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(own.get(dscp, 0)) for dscp in DSCPS}},
        "TC_TO_QUEUE_MAP": {MAP: straight},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(p): group for p, group in groups.items()}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: straight},
    }


def _port_qos(quality: Quality) -> dict[str, str]:
    return {
        "dscp_to_tc_map": MAP,
        "tc_to_queue_map": MAP,
        "tc_to_pg_map": MAP,
        "pfc_to_queue_map": MAP,
        "pfc_enable": str(quality.priority),
        "pfcwd_sw_enable": str(quality.priority),
    }


def _buffers(site: Site, ports: Ports, quality: Quality) -> dict[str, Table]:
    if site.scenario.site.buffer_model == "dynamic":
        return _worked_out(list(ports), quality)
    used = {
        name: quality.profile(cable.rate_bps, site.length_m(cable))
        for name, (_, cable) in ports.items()
    }
    pool, room = quality.pool_bytes, quality.headroom_bytes
    lossless = {profile.name: _headroom(profile) for profile in used.values()}
    return {
        "BUFFER_POOL": {
            _POOL: {"type": "ingress", "mode": "dynamic", "size": str(pool), "xoff": str(room)},
            _EGRESS_POOL: {"type": "egress", "mode": "static", "size": str(pool + room)},
        },
        "BUFFER_PROFILE": {
            **lossless,
            "ingress_lossy_profile": {"pool": _POOL, "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {
                "pool": _EGRESS_POOL,
                "size": "0",
                "static_th": str(pool + room),
            },
        },
        "BUFFER_PG": {
            **{f"{port}|0": {"profile": "ingress_lossy_profile"} for port in used},
            **{f"{port}|{quality.priority}": {"profile": p.name} for port, p in used.items()},
        },
        "BUFFER_QUEUE": {
            f"{port}|{quality.priority}": {"profile": "egress_lossless_profile"} for port in used
        },
    }


def _worked_out(names: list[str], quality: Quality) -> dict[str, Table]:
    """Return the buffers of the dynamic model: the switch works out headroom and pools.

    In the form of sonic-buildimage's buffers_defaults_objects.j2 for that model: pools without
    sizes, groups with the profile NULL, and egress queues that may take 2^7 times what is free.
    """
    lossy = {"pool": _POOL, "size": "0", "dynamic_th": "3"}
    return {
        "BUFFER_POOL": {
            _POOL: {"type": "ingress", "mode": "dynamic"},
            _EGRESS_POOL: {"type": "egress", "mode": "dynamic"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": lossy,
            "egress_lossless_profile": {"pool": _EGRESS_POOL, "size": "0", "dynamic_th": "7"},
        },
        "BUFFER_PG": {
            **{f"{port}|0": {"profile": "ingress_lossy_profile"} for port in names},
            **{f"{port}|{quality.priority}": {"profile": BY_SWITCH} for port in names},
        },
        "BUFFER_QUEUE": {
            f"{port}|{quality.priority}": {"profile": "egress_lossless_profile"} for port in names
        },
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": DYNAMIC_TH}},
        "LOSSLESS_TRAFFIC_PATTERN": {
            "AZURE": {"mtu": str(quality.mtu_bytes), "small_packet_percentage": "100"}
        },
    }


def _headroom(profile: LosslessProfile) -> dict[str, str]:
    return {
        "pool": _POOL,
        "size": "0",
        "xon": "0",
        "xon_offset": str(profile.xon_offset_bytes),
        "xoff": str(profile.xoff_bytes),
        "dynamic_th": f"{math.log2(profile.alpha):.0f}",  # of what is free, 2 to this power
    }


def _queues(names: list[str], quality: Quality) -> dict[str, Table]:
    ecn = quality.ecn
    lossless = {"scheduler": "scheduler.roce", "wred_profile": MAP}
    return {
        "WRED_PROFILE": {
            MAP: {
                "ecn": "ecn_all",
                "wred_green_enable": "true",
                "green_min_threshold": str(ecn.least_bytes),
                "green_max_threshold": str(ecn.most_bytes),
                "green_drop_probability": str(ecn.mark_pct),
            }
        },
        "SCHEDULER": {
            "scheduler.roce": {"type": "DWRR", "weight": str(quality.weights_pct.roce)},
            "scheduler.rest": {"type": "DWRR", "weight": str(quality.weights_pct.rest)},
            "scheduler.cnp": {"type": "STRICT"},
        },
        "QUEUE": {
            **{f"{name}|0": {"scheduler": "scheduler.rest"} for name in names},
            **{f"{name}|{quality.priority}": lossless for name in names},
            **{f"{name}|{quality.cnp_priority}": {"scheduler": "scheduler.cnp"} for name in names},
        },
    }


def _watchdog(names: list[str], quality: Quality) -> Table:
    watchdog = quality.watchdog
    port = {
        "action": "drop",
        "detection_time": str(watchdog.detection_ms),
        "restoration_time": str(watchdog.restoration_ms),
    }
    return {
        "GLOBAL": {"POLL_INTERVAL": str(watchdog.poll_ms)},
        **dict.fromkeys(names, port),
    }


def read_qos(text: str, where: str) -> SwitchQos:
    """Return what a config_db.json says of lossless traffic.

    Raises:
        SpecError: it is not a config_db, or a number in it is none.
    """
    try:
        tables = json.loads(text)
        return _qos(tables, where)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SpecError(
            what=f"{where}: is not a config_db.json of RoCE ({error!r})", remedy="render it again"
        ) from error


def _qos(tables: dict[str, Table], where: str) -> SwitchQos:
    priorities: Table = next(iter(tables.get("DSCP_TO_TC_MAP", {}).values()), {})
    pausing = {
        int(priority)
        for port in tables.get("PORT_QOS_MAP", {}).values()
        for priority in str(port.get("pfc_enable", "")).split(",")
        if priority
    }
    marks = next(iter(tables.get("WRED_PROFILE", {}).values()), None)
    pool = tables.get("BUFFER_POOL", {}).get(_POOL, {})
    own = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    interfaces = [*tables.get("INTERFACE", {}), *tables.get("LOOPBACK_INTERFACE", {})]
    return SwitchQos(
        where=where,
        priority_of={int(dscp): int(priority) for dscp, priority in priorities.items()},
        pausing=frozenset(pausing),
        least_bytes=None if marks is None else int(marks["green_min_threshold"]),
        most_bytes=None if marks is None else int(marks["green_max_threshold"]),
        pool_bytes=int(pool.get("size", 0)),
        room_bytes=int(pool.get("xoff", 0)),
        ports=tuple(_lossless_ports(tables, frozenset(pausing))),
        addresses=tuple(key.split("|")[1] for key in interfaces if "|" in key),
        has_buffers=own.get("buffer_model") != "dynamic",
    )


def _lossless_ports(tables: dict[str, Table], pausing: frozenset[int]) -> Iterator[LosslessPort]:
    """Yield every port and priority group that is paused, with its headroom."""
    lengths: Table = next(iter(tables.get("CABLE_LENGTH", {}).values()), {})
    for key, group in tables.get("BUFFER_PG", {}).items():
        port, _, number = key.partition("|")
        if group["profile"] == BY_SWITCH:
            continue
        profile = tables["BUFFER_PROFILE"][group["profile"]]
        if int(number.partition("-")[0]) in pausing:
            yield LosslessPort(
                name=port,
                rate_bps=1e6 * float(tables["PORT"][port]["speed"]),
                length_m=float(str(lengths[port]).removesuffix("m")),
                xoff_bytes=int(profile.get("xoff", 0)),
                alpha=2.0 ** float(profile.get("dynamic_th", 0)),
            )
