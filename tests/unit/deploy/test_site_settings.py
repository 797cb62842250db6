"""The scenario's site in every system's words, and failover that is the same everywhere."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from deployments import build, in_every_language, render

from netloom.app.deploy.checking import Checks, check_deployment
from netloom.formats.nvue.tree import paths
from netloom.ops.deploy.changes import file_changes
from netloom.ops.deploy.device import Bfd
from netloom.ops.deploy.structure import differences, sections
from netloom.ops.switch_systems import SWITCH_SYSTEMS, settings_reader
from netloom.spec.site.section import SiteSettings

SITE = """{ntp: [10.9.0.1, time.example.net], dns: [10.9.0.2], domain: example.net,
  syslog: {servers: [10.9.0.3], level: warning}, snmp: {location: hall 1, contact: noc},
  aaa: {tacacs: [10.9.0.4, 10.9.0.5]}, admin_secret_variable: ADMIN_SECRET,
  management: {network: 10.8.0.0/22, gateway: 10.8.0.1}}"""
PURE = Checks(has_programs=False)


def files(site: str = SITE, technology: str = "rocev2-400g") -> dict[str, str]:
    return in_every_language(build(technology, site=site))


def tables(site: str = SITE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(site)["switches/leaf000/sonic/config_db.json"])
    return found


def test_every_system_notices_a_silent_neighbour_equally_soon() -> None:
    intent = build("rocev2-400g")
    number = len(intent.site.nics)
    for name in ("cumulus", "eos", "frr", "sonic"):
        sessions = [
            session
            for file in SWITCH_SYSTEMS.get(name).files
            if file.read_device is not None
            for session in file.read_device(file.render(intent, number), name).neighbours
        ]
        assert len(sessions) == 64, name  # the uplinks of a leaf
        assert {one.bfd for one in sessions} == {Bfd(interval_ms=300, multiplier=3)}, name
    nvue, eos, frr = (
        files("{}")[f"switches/leaf000/{name}"] for name in ("nvue.sh", "eos.conf", "frr.conf")
    )
    assert nvue.count(" timers keepalive 1\n") == nvue.count(" timers hold 3\n") == 64
    assert nvue.count(" timers connection-retry 1\n") == 64
    assert "   neighbor FABRIC timers 1 3\n" in eos
    assert " timers bgp 1 3\n" in frr


def test_sonic_is_told_management_time_logs_monitoring_and_logins() -> None:
    found = tables()
    assert found["MGMT_INTERFACE"] == {"eth0|10.8.0.10/22": {"gwaddr": "10.8.0.1"}}
    assert found["MGMT_VRF_CONFIG"] == {"vrf_global": {"mgmtVrfEnabled": "true"}}
    assert set(found["NTP_SERVER"]) == {"10.9.0.1", "time.example.net"}
    assert found["NTP"] == {"global": {"vrf": "mgmt"}}
    assert found["SYSLOG_SERVER"] == {"10.9.0.3": {"severity": "warn", "vrf": "mgmt"}}
    assert found["SNMP_COMMUNITY"] == {"${SNMP_COMMUNITY}": {"TYPE": "RO"}}
    assert found["SNMP"]["LOCATION"] == {"Location": "hall 1"}
    assert found["AAA"]["authentication"]["login"] == "tacacs+,local"
    assert found["TACPLUS_SERVER"]["10.9.0.5"]["priority"] == "2"
    assert found["TACPLUS"]["global"]["passkey"] == "${TACACS_KEY}"
    assert found["DNS_NAMESERVER"] == {"10.9.0.2": {}}
    silent = tables("{}")
    assert not {"MGMT_INTERFACE", "NTP_SERVER", "SNMP", "AAA", "SYSLOG_SERVER"} & silent.keys()


def test_nvue_and_eos_are_told_the_same() -> None:
    rendered = files()
    nvue, eos = (rendered[f"switches/leaf000/{name}"] for name in ("nvue.sh", "eos.conf"))
    for line in (
        "nv set interface eth0 ip address 10.8.0.10/22",
        "nv set interface eth0 ip gateway 10.8.0.1",
        "nv set service ntp mgmt server time.example.net",
        "nv set service syslog mgmt server 10.9.0.3",
        'nv set service snmp-server readonly-community "${SNMP_COMMUNITY}" access any',
        "nv set system aaa tacacs server 2 host 10.9.0.5",
    ):
        assert f"{line}\n" in nvue
    for line in (
        "interface Management1\n   vrf MGMT\n   ip address 10.8.0.10/22",
        "ip route vrf MGMT 0.0.0.0/0 10.8.0.1",
        "ntp server vrf MGMT time.example.net",
        "logging vrf MGMT host 10.9.0.3",
        "logging trap warnings",
        "snmp-server community ${SNMP_COMMUNITY} ro",
        "tacacs-server host 10.9.0.5 vrf MGMT key 0 ${TACACS_KEY}",
        "username admin privilege 15 role network-admin secret sha512 ${ADMIN_SECRET}",
    ):
        assert f"{line}\n" in eos


def test_no_file_holds_a_secret_and_every_placeholder_is_a_variable() -> None:
    for path, text in files().items():
        if path.startswith("switches/"):
            assert set(re.findall(r"\$\{(\w+)\}", text)) <= {
                "SNMP_COMMUNITY",
                "TACACS_KEY",
                "ADMIN_SECRET",
            }


def test_switches_get_management_addresses_one_after_the_other() -> None:
    rendered = files()
    found = [
        next(iter(json.loads(rendered[f"switches/{name}/sonic/config_db.json"])["MGMT_INTERFACE"]))
        for name in ("leaf000", "leaf007", "spine000")
    ]
    assert found == ["eth0|10.8.0.10/22", "eth0|10.8.0.17/22", "eth0|10.8.0.18/22"]


def test_split_cages_are_named_with_their_mode() -> None:
    # 64 cages of 800 Gb/s, two ports of 400 Gb/s each: eight lanes from one to the next.
    found = tables()["BREAKOUT_CFG"]
    assert len(found) == 64
    assert list(found)[:2] == ["Ethernet0", "Ethernet104"]  # in the order of text
    assert {row["brkout_mode"] for row in found.values()} == {"2x400G"}


def test_the_dynamic_buffer_model_leaves_headroom_to_the_switch() -> None:
    intent = build("rocev2-400g", nodes=4, site="{buffer_model: dynamic}")
    rendered = render(intent)
    found = json.loads(rendered["switches/leaf000/sonic/config_db.json"])
    assert found["DEVICE_METADATA"]["localhost"]["buffer_model"] == "dynamic"
    assert found["BUFFER_PG"]["Ethernet0|3"] == {"profile": "NULL"}
    assert "size" not in found["BUFFER_POOL"]["ingress_lossless_pool"]
    assert not any("pg_lossless" in name for name in found["BUFFER_PROFILE"])
    assert found["CABLE_LENGTH"]["AZURE"]  # from which it works headroom out
    assert check_deployment(intent, rendered, PURE) == ()
    found["BUFFER_QUEUE"].popitem()
    broken = {**rendered, "switches/leaf000/sonic/config_db.json": json.dumps(found)}
    (error,) = check_deployment(intent, broken, PURE)
    assert "may drop" in error.what
    assert tables("{}")["DEVICE_METADATA"]["localhost"]["buffer_model"] == "traditional"


def test_what_an_earlier_script_of_nvue_set_is_gone() -> None:
    tenants = "[{name: red, nodes: 0-31}]"
    before, after = (
        in_every_language(build("rocev2-400g", tenants=t))["switches/leaf000/nvue.sh"]
        for t in (tenants, "[]")
    )
    assert any("Vrfred" in path for path in paths(before))
    # Both run one after the other on one switch.
    assert set(paths(before + after)) == set(paths(after))
    assert "nv unset service ntp\n" not in after  # not named in the scenario: not netloom's
    named = files()["switches/leaf000/nvue.sh"]
    assert "nv unset service ntp\n" in named
    lines = named.splitlines()
    assert max(n for n, line in enumerate(lines) if line.startswith("nv unset")) < min(
        n for n, line in enumerate(lines) if line.startswith("nv set")
    )


@pytest.mark.parametrize(
    ("site", "what"),
    [
        ({"management": {"network": "10.0.0.0/33", "gateway": "10.0.0.1"}}, "not an IPv4 network"),
        ({"management": {"network": "10.0.0.0/24", "gateway": "10.1.0.1"}}, "lies outside"),
        ({"dns": ("time.example.net",)}, "not an IPv4 address"),
        ({"ntp": ("bad name",)}, "neither an address nor a host name"),
        ({"zero_touch": {"url": "ftp://x"}}, "not a URL of HTTP"),
        ({"snmp": {"community_variable": "public"}}, "String should match"),
        ({"snmp": {"location": "x'; rm -rf /"}}, "String should match"),
        ({"system": "SONiC"}, "String should match"),
    ],
)
def test_a_site_that_is_wrong_is_refused_as_it_is_read(site: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        SiteSettings.from_file(site)


def test_files_differ_by_what_they_say_and_not_by_how() -> None:
    old = "interface Ethernet1\n   mtu 1500\n   shutdown\n!\nrouter bgp 1\n   router-id 1.1.1.1\n"
    new = "router bgp 1\n   router-id 1.1.1.1\ninterface Ethernet1\n   mtu 9214\n!\n"
    assert differences(sections(old), sections(new)) == (
        "- interface Ethernet1 > mtu 1500",
        "+ interface Ethernet1 > mtu 9214",
        "- interface Ethernet1 > shutdown",
    )
    path = "switches/leaf000/sonic/config_db.json"
    table = {"PORT": {"Ethernet0": {"mtu": "9100", "speed": "400000"}}}
    turned = {"PORT": {"Ethernet0": {"speed": "400000", "mtu": "9100"}}}
    same = file_changes(
        {path: json.dumps(table)}, {path: json.dumps(turned, indent=4)}, settings_reader
    )
    assert same == ()
    turned["PORT"]["Ethernet0"]["mtu"] = "9216"
    (change,) = file_changes({path: json.dumps(table)}, {path: json.dumps(turned)}, settings_reader)
    assert change.lines == ("~ PORT > Ethernet0 > mtu: 9100 -> 9216",)
    (change,) = file_changes({path: "{"}, {path: json.dumps(turned)}, settings_reader)
    assert "is not JSON" in change.error
    (change,) = file_changes(
        {"a/nvue.sh": "nv set qos roce\n"},
        {"a/nvue.sh": "nv set qos roce mode lossy\n"},
        settings_reader,
    )
    assert change.lines == ("- qos > roce", "+ qos > roce > mode > lossy")
