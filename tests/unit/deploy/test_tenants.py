"""Tenants on Ethernet: which VRF each host is in, and how every kind of switch is told."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from deployments import build, in_every_language, render
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.deploy.checking import Checks, check_deployment
from netloom.app.deploy.lab_vrfs import HostPort, LabVrf, parse_room
from netloom.errors import LabError
from netloom.formats.frr.conf import read_routes
from netloom.ops.deploy.overlay import overlays_of, vrf_name
from netloom.ops.deploy.partitions import Partition
from netloom.ops.underlay import underlay_of

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent

# Leaves are shared: every one has a rail of both tenants' nodes. Node 3 is nobody's.
TENANTS = "[{name: red, nodes: '0,2'}, {name: blue, nodes: '1', partition_key: 7}]"
PURE = Checks(has_programs=False)


def shared() -> Intent:
    return build("rocev2-400g", nodes=4, tenants=TENANTS)


def leaf_of(intent: Intent) -> int:
    return len(intent.site.nics)  # leaf000


def partition(name: str, key: int, hosts: tuple[int, ...] = ()) -> Partition:
    return Partition(name=name, key=key, level=1, hosts=hosts)


def test_every_host_is_in_the_vrf_of_its_tenant_or_off() -> None:
    intent = shared()
    owner = {0: "Vrfred", 1: "Vrfblue", 2: "Vrfred", 3: None}
    for host, nic in enumerate(intent.site.nics):
        vrf = intent.vrf(host)
        assert (vrf.name if vrf else None) == owner[nic.node]
        assert intent.is_shut(host) == (nic.node == 3)


def test_numbers_follow_from_the_tenants_key() -> None:
    overlay = shared().overlay(leaf_of(shared()))
    assert overlay is not None
    # red has the lowest free key, 1; VNIs are 10,000 and the key.
    assert [(vrf.key, vrf.vni, vrf.target) for vrf in overlay.vrfs] == [
        (1, 10_001, "64512:10001"),
        (7, 10_007, "64512:10007"),
    ]


@given(
    st.lists(
        st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,31}", fullmatch=True),
        min_size=1,
        max_size=20,
        unique=True,
    )
)
def test_vrfs_have_names_of_their_own_that_sonic_and_linux_take(names: list[str]) -> None:
    vrfs = [vrf_name(partition(name, key)) for key, name in enumerate(names, start=1)]
    assert len(set(vrfs)) == len(vrfs)
    for vrf in vrfs:
        # sonic-vrf.yang, revision 2026-07-02: pattern and length of a VRF's name.
        assert re.fullmatch(r"Vrf[a-zA-Z0-9_-]+", vrf)
        assert len(vrf) <= 15


def test_without_tenants_nothing_of_them_is_written() -> None:
    files = render(build("rocev2-400g", nodes=4))
    assert not any("vrf" in text.lower() and "Vrf" in text for text in files.values())
    assert not any(path.endswith("vrfs.sh") for path in files)
    assert overlays_of(underlay_of(build("rocev2-400g", nodes=4).site.plant), ()) == {}


def test_a_switch_says_the_same_of_its_tenants_in_every_language() -> None:
    intent = shared()
    files = in_every_language(intent)
    folder = "switches/leaf000"
    config = json.loads(files[f"{folder}/sonic/config_db.json"])
    assert config["VRF"] == {"Vrfred": {"vni": "10001"}, "Vrfblue": {"vni": "10007"}}
    for name, vni in (("Vrfred", 10_001), ("Vrfblue", 10_007)):
        assert f"vrf {name}\n vni {vni}\nexit-vrf\n" in files[f"{folder}/frr.conf"]
        assert f"   vxlan vrf {name} vni {vni}\n" in files[f"{folder}/eos.conf"]
        assert f"nv set vrf {name} evpn vni {vni}\n" in files[f"{folder}/nvue.sh"]
        assert f"type vxlan id {vni} local 10.0.0.1 " in files[f"{folder}/vrfs.sh"]
    # Of 4 nodes with a port each on this leaf: two of red, one of blue, one off.
    overlay = intent.overlay(leaf_of(intent))
    assert overlay is not None
    num_off = len(overlay.shut)
    num_in = sum(len(vrf.links) for vrf in overlay.vrfs)
    assert num_in == 3 * num_off
    eos, nvue = files[f"{folder}/eos.conf"], files[f"{folder}/nvue.sh"]
    assert eos.count("   shutdown\n") == nvue.count(" link state down\n") == num_off
    assert len(re.findall(r"^   vrf Vrf\w+$\n   ip address", eos, re.MULTILINE)) == num_in
    assert nvue.count(" ip vrf Vrf") == num_in
    states = [row["admin_status"] for row in config["PORT"].values()]
    assert states.count("down") == num_off


def test_hosts_of_tenants_send_what_fits_into_a_tunnel() -> None:
    # 9,216 bytes less 14 + 20 + 8 + 8 of the outer headers.
    script = render(shared())["hosts/n0000/nics.sh"]
    (mtu,) = set(re.findall(r"mtu (\d+) up", script))
    assert int(mtu) <= 9216 - 50


def test_switches_without_hosts_pass_tunnels_on_and_have_no_vrf() -> None:
    intent = build("rocev2-400g", tenants="[{name: a, nodes: 0-31}, {name: b, nodes: 32-63}]")
    text = in_every_language(intent)["switches/spine000/frr.conf"]
    assert "  neighbor fabric activate\n" in text
    assert "advertise-all-vni" not in text
    assert read_routes(text, "").vrfs == {}
    assert "next-hop-unchanged" in in_every_language(intent)["switches/spine000/eos.conf"]


def test_the_shell_reads_every_script() -> None:
    for path, text in in_every_language(shared()).items():
        if path.endswith(".sh"):
            subprocess.run(["sh", "-n"], input=text, text=True, check=True)  # noqa: S607


def test_targets_stand_apart_since_bgpd_frees_shared_ones_twice() -> None:
    for path, text in in_every_language(shared()).items():
        if path.endswith("frr.conf"):
            assert "route-target both" not in text


@pytest.mark.parametrize("technology", ["rocev2-400g", "spectrum-x-400g", "tcp-400g"])
def test_tenants_break_no_rule_on_any_ethernet(technology: str) -> None:
    intent = build(technology, nodes=4, tenants="[{name: a, nodes: 0-1}, {name: b, nodes: 2-3}]")
    assert check_deployment(intent, render(intent), PURE) == ()


def test_a_room_is_read_with_the_ports_in_it() -> None:
    def link(name: str, kind: str, **more: object) -> dict[str, object]:
        info = {"info_kind": kind, "info_data": {"id": 10_001}}
        return {"ifname": name, "flags": ["UP"], "linkinfo": info, "addr_info": [], **more}

    address = [{"family": "inet", "local": "10.128.0.0", "prefixlen": 31}]
    rows: list[dict[str, object]] = [
        link("vx10001", "vxlan", master="br10001"),
        link("br10001", "bridge"),
        link("swp1", "macvlan", addr_info=address),
        {"ifname": "lo", "flags": ["UP"], "addr_info": []},
    ]
    room, ports = parse_room("Vrfred", json.dumps(rows))
    assert room == LabVrf(name="Vrfred", vni=10_001)
    assert ports == (HostPort(name="swp1", vrf="Vrfred", address="10.128.0.0/31"),)
    # One whose tunnel has no bridge yet is half made, and made again.
    del rows[0]["master"]
    assert parse_room("Vrfred", json.dumps(rows))[0].vni == 0


@given(st.text() | st.from_regex(r"\[\{.*\}\]"))
def test_whatever_ip_prints_is_read_or_refused(text: str) -> None:
    try:
        parse_room("Vrfa", text)
    except LabError:
        return
