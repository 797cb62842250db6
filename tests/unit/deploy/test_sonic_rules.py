"""Rules of SONiC's own models, for every field that netloom writes.

Read in sonic-buildimage, src/sonic-yang-models, from the newest revisions found: sonic-port
2026-04-11, sonic-vrf 2026-07-02, sonic-wred-profile 2026-06-23, sonic-interface 2025-03-06,
sonic-vlan 2024-03-07, sonic-cable-length 2021-11-11, sonic-device_metadata 2021-02-27,
sonic-vxlan 2021-04-12, sonic-buffer-{pool,profile,pg,queue} and sonic-pfcwd 2021-07-01,
sonic-{scheduler,queue} 2021-04-01, sonic-loopback-interface 2021-04-05, the maps 2021-04-15,
sonic-port-qos-map 2019-05-15. Patterns and ranges are theirs; the code is ours.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from deployments import build, render

NAME = r"[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})"
NUMBER = r"\d+"
PRIORITIES = r"([0-7](,[0-7])*)?"
TENANTS = "[{name: red, nodes: 0-1}, {name: blue-with-a-long-name, nodes: '2'}]"

# Every field that may be written, by table: a pattern, or the least and the most.
FIELDS: dict[str, dict[str, str | tuple[int, int]]] = {
    "DEVICE_METADATA": {
        "hostname": r".{1,63}",
        "type": r"ToRRouter|LeafRouter|SpineRouter",
        "bgp_asn": (0, 2**32 - 1),
        "docker_routing_config_mode": r"separated|unified|split|split-unified",
        "buffer_model": r"dynamic|traditional",
    },
    "BREAKOUT_CFG": {"brkout_mode": r"[1-8]x\d+G"},
    "MGMT_PORT": {"alias": r".{1,128}", "admin_status": r"up|down"},
    "MGMT_INTERFACE": {"gwaddr": r"[\d.]{7,15}"},
    "MGMT_VRF_CONFIG": {"mgmtVrfEnabled": r"true|false"},
    "NTP": {"vrf": r"mgmt|default"},
    "NTP_SERVER": {"association_type": r"server|pool"},
    "DNS_NAMESERVER": {},
    "SYSLOG_SERVER": {
        "severity": r"debug|info|notice|warn|error|crit",
        "vrf": r"mgmt|default|Vrf[a-zA-Z0-9_-]+",
    },
    "SNMP": {"Location": r".{1,255}", "Contact": r".{1,255}"},
    "SNMP_COMMUNITY": {"TYPE": r"RO|RW"},
    "AAA": {"login": r"tacacs\+,local", "failthrough": r"True|False"},
    "TACPLUS": {"auth_type": r"pap|chap|mschap|login", "passkey": r"\$\{[A-Z_]+\}"},
    "TACPLUS_SERVER": {"priority": (1, 64), "tcp_port": (0, 65_535), "vrf": r"mgmt|default"},
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"default_dynamic_th": (-8, 7)},
    "LOSSLESS_TRAFFIC_PATTERN": {"mtu": (64, 10_240), "small_packet_percentage": (0, 100)},
    "PORT": {
        "alias": r".{1,128}",
        "index": (0, 65_535),
        "lanes": r".{1,128}",
        "speed": (1, 1_600_000),
        "mtu": (68, 9216),
        "fec": r"rs|fc|none|auto",
        "admin_status": r"up|down",
        "description": r".{0,255}",
    },
    "INTERFACE": {"ipv6_use_link_local_only": r"enable|disable", "vrf_name": r"Vrf[\w-]{1,12}"},
    "LOOPBACK_INTERFACE": {},
    "CABLE_LENGTH": {r"Ethernet\d+": r"[0-9]+m|None"},
    "DSCP_TO_TC_MAP": {r"6[0-3]|[1-5][0-9]?|[0-9]?": (0, 15)},
    "TC_TO_QUEUE_MAP": {r"\d|1[0-5]": r"[0-9]?"},
    "TC_TO_PRIORITY_GROUP_MAP": {r"\d|1[0-5]": r"[0-7]?"},
    "MAP_PFC_PRIORITY_TO_QUEUE": {r"[0-7]?": r"[0-7]?"},
    "PORT_QOS_MAP": {
        "dscp_to_tc_map": NAME,
        "tc_to_queue_map": NAME,
        "tc_to_pg_map": NAME,
        "pfc_to_queue_map": NAME,
        "pfc_enable": PRIORITIES,
        "pfcwd_sw_enable": PRIORITIES,
    },
    "BUFFER_POOL": {
        "type": r"ingress|egress|both",
        "mode": r"static|dynamic",
        "size": NUMBER,
        "xoff": NUMBER,
    },
    "BUFFER_PROFILE": {
        "pool": r".+",
        "size": NUMBER,
        "xon": NUMBER,
        "xoff": NUMBER,
        "xon_offset": NUMBER,
        "static_th": NUMBER,
        "dynamic_th": (-8, 7),
    },
    "BUFFER_PG": {"profile": r".+"},
    "BUFFER_QUEUE": {"profile": r".+"},
    "WRED_PROFILE": {
        "ecn": r"ecn_(none|green|yellow|red|green_yellow|green_red|yellow_red|all)",
        "wred_green_enable": r"true|false",
        "green_min_threshold": NUMBER,
        "green_max_threshold": NUMBER,
        "green_drop_probability": (0, 100),
    },
    "SCHEDULER": {"type": r"DWRR|WRR|STRICT", "weight": (1, 100)},
    "QUEUE": {"scheduler": r".+", "wred_profile": NAME},
    "PFC_WD": {
        "action": r"drop|forward|alert",
        "detection_time": (100, 5000),
        "restoration_time": (100, 60_000),
        "POLL_INTERVAL": (100, 1000),
    },
    "VRF": {"vni": (0, 2**24 - 1)},
    "VLAN": {"vlanid": (2, 4094)},
    "VLAN_INTERFACE": {"vrf_name": r"Vrf[\w-]{1,12}"},
    "VXLAN_TUNNEL": {"src_ip": r"[\d.]+"},
    "VXLAN_EVPN_NVO": {"source_vtep": r".+"},
    "VXLAN_TUNNEL_MAP": {
        "vlan": r"Vlan([0-9]{1,3}|[1-3][0-9]{3}|[4][0][0-8][0-9]|[4][0][9][0-4])",
        "vni": (1, 2**24 - 1),
    },
}
# What a field, or the first part of a key, must be the name of.
REFERENCES = {
    ("INTERFACE", ""): "PORT",
    ("BUFFER_PG", ""): "PORT",
    ("BUFFER_QUEUE", ""): "PORT",
    ("QUEUE", ""): "PORT",
    ("PORT_QOS_MAP", ""): "PORT",
    ("VLAN_INTERFACE", ""): "VLAN",
    ("VXLAN_TUNNEL_MAP", ""): "VXLAN_TUNNEL",
    ("INTERFACE", "vrf_name"): "VRF",
    ("VLAN_INTERFACE", "vrf_name"): "VRF",
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("VXLAN_TUNNEL_MAP", "vlan"): "VLAN",
    ("VXLAN_EVPN_NVO", "source_vtep"): "VXLAN_TUNNEL",
}
MANDATORY = {
    "PORT": {"lanes", "speed"},
    "BUFFER_POOL": {"type", "mode"},
    "BUFFER_PROFILE": {"size", "pool"},
    "VXLAN_TUNNEL_MAP": {"vlan", "vni"},
    "VXLAN_EVPN_NVO": {"source_vtep"},
}
Config = dict[str, dict[str, dict[str, Any]]]


def configs(technology: str, nodes: int, tenants: str = "[]") -> list[Config]:
    files = render(build(technology, nodes=nodes, tenants=tenants))
    return [json.loads(text) for path, text in files.items() if path.endswith("config_db.json")]


def fits(value: str, rule: str | tuple[int, int]) -> bool:
    assert isinstance(value, str)  # config_db has no numbers
    if isinstance(rule, str):
        return re.fullmatch(rule, value) is not None
    return re.fullmatch(r"-?\d+", value) is not None and rule[0] <= int(value) <= rule[1]


CASES = [
    ("rocev2-400g", 4, "[]"),
    ("rocev2-400g", 4, TENANTS),
    ("rocev2-400g", 64, "[]"),
    ("rocev2-400g", 64, TENANTS),
    ("spectrum-x-400g", 4, "[]"),
    ("tcp-400g", 4, TENANTS),
]


@pytest.mark.parametrize(("technology", "nodes", "tenants"), CASES)
def test_every_field_is_known_and_in_its_range(technology: str, nodes: int, tenants: str) -> None:
    for config in configs(technology, nodes, tenants):
        for table, rows in config.items():
            for key, row in rows.items():
                for field, value in row.items():
                    rules = [r for f, r in FIELDS[table].items() if re.fullmatch(f, field)]
                    assert rules, f"{table}|{key}: {field}"
                    assert fits(value, rules[0]), f"{table}|{key}: {field} = {value}"
                assert MANDATORY.get(table, set()) <= row.keys()


@pytest.mark.parametrize(("technology", "nodes", "tenants"), CASES)
def test_every_reference_leads_somewhere(technology: str, nodes: int, tenants: str) -> None:
    for config in configs(technology, nodes, tenants):
        for (table, field), target in REFERENCES.items():
            for key, row in config.get(table, {}).items():
                held = key.split("|")[0] if not field else row.get(field)
                if held is not None:
                    assert held in config[target], f"{table}|{key}: {field} = {held}"


@pytest.mark.parametrize(("technology", "nodes", "tenants"), CASES)
def test_conditions_between_fields_hold(technology: str, nodes: int, tenants: str) -> None:
    for config in configs(technology, nodes, tenants):
        # An address needs a row of its interface beside it; a VLAN's number is in its name.
        for key in config["INTERFACE"]:
            assert key.split("|")[0] in config["INTERFACE"]
        for name, row in config.get("VLAN", {}).items():
            assert name == f"Vlan{row['vlanid']}"
        for row in config.get("WRED_PROFILE", {}).values():
            assert int(row["green_max_threshold"]) >= int(row["green_min_threshold"])
        watch = dict(config.get("PFC_WD", {}))
        poll = int(watch.pop("GLOBAL", {}).get("POLL_INTERVAL", 0))
        for row in watch.values():
            assert min(int(row["detection_time"]), int(row["restoration_time"])) >= poll
        assert len(config.get("VXLAN_TUNNEL", {})) <= 2
        assert len(config.get("VXLAN_EVPN_NVO", {})) <= 1
