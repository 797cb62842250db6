"""Configurations that netloom did not write: what is wrong is found whatever the system.

The texts are of our own composition, in forms that public ones show: SONiC's Configuration.md
(sonic-net/sonic-buildimage), NVIDIA's NVUE reference (CumulusNetworks/docs), Arista's AVD output
(aristanetworks/avd) with a QoS profile as in its guide to AI networks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable  # noqa: TC003  (beside Path)
from functools import partial
from pathlib import Path  # noqa: TC003  (pytest's tmp_path)
from typing import Any

import pytest
from deployments import build, in_every_language
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.app.deploy import lint
from netloom.cli.main import main
from netloom.errors import NetloomError
from netloom.formats.nvue.tree import expanded, paths
from netloom.ops.switch_systems import SwitchFile, switch_files

EOS = """\
! device: {name} (DCS-7060X6-64PE, EOS-4.33.1F)
hostname {name}
!
qos map dscp 48 to traffic-class 6
qos map traffic-class 3 to tx-queue 3
priority-flow-control pause watchdog default timeout 0.2
priority-flow-control pause watchdog action drop
!
qos profile ROCE
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   uc-tx-queue 3
      no priority
      bandwidth percent 95
      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes weight 0
   uc-tx-queue 6
      priority strict
!
interface Ethernet1/1
   description host
   no switchport
   mtu 9214
   ip address {address}/31
   qos trust dscp
   service-profile ROCE
   uc-tx-queue 3
      random-detect ecn count
!
interface Ethernet2/1
   description spine
   mtu 9214
   speed 400g-4
   no switchport
   ip address {uplink}/31
   service-profile ROCE
!
interface Loopback0
   ip address {loopback}/32
!
router bgp {asn}
   router-id {loopback}
   maximum-paths 64 ecmp 64
   neighbor SPINES peer group
   neighbor SPINES bfd
   neighbor SPINES bfd interval 300 min-rx 300 multiplier 3
   neighbor {peer} peer group SPINES
   neighbor {peer} remote-as {peer_asn}
!
end
"""


def leaf(number: int) -> str:
    return EOS.format(
        name=f"leaf{number}",
        address=f"10.1.{number}.0",
        uplink=f"10.2.{number}.0",
        loopback=f"10.0.0.{number}",
        asn=65_100 + number,
        peer=f"10.2.{number}.1",
        peer_asn=65_000,
    )


NVUE = """\
- header:
    model: sn5600
    nvue-api-version: nvue_v1
    rev-id: 1.0
    version: Cumulus Linux 5.9.1
- set:
    interface:
      lo:
        ip:
          address:
            10.0.0.7/32: {}
      swp1-2,4:
        link:
          mtu: 9216
          state:
            up: {}
        qos:
          pfc-watchdog:
            state: enable
        ip:
          ipv6:
            forward: on
      swp1:
        ip:
          address:
            10.3.0.0/31: {}
    qos:
      roce:
        enable: on
        mode: lossless
    router:
      bgp:
        autonomous-system: 65107
        enable: on
        router-id: 10.0.0.7
    vrf:
      default:
        router:
          bgp:
            neighbor:
              swp2:
                remote-as: external
                type: unnumbered
                bfd:
                  enable: on
                  detect-multiplier: 3
                  min-rx-interval: 300
"""


def sonic(**changes: Any) -> str:
    ports = [f"Ethernet{8 * n}" for n in range(3)]
    maps = {
        "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]",
        "pfc_enable": "3,4",
        "tc_to_queue_map": "AZURE",
    }
    tables: dict[str, Any] = {
        "DEVICE_METADATA": {"localhost": {"hostname": "tor1", "bgp_asn": "65200"}},
        "PORT": {
            name: {
                "lanes": "1,2",
                "speed": "400000",
                "mtu": "9100",
                "admin_status": "up",
                "description": "servers",
            }
            for name in ports
        },
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.4.0.0/31": {}},
        "LOOPBACK_INTERFACE": {"Loopback0|10.0.0.9/32": {}},
        "BREAKOUT_CFG": {"Ethernet0": {"brkout_mode": "2x400G[200G]"}},
        "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4", "46": "5"}},
        "TC_TO_QUEUE_MAP": {"AZURE": {str(n): str(n) for n in range(8)}},
        "PORT_QOS_MAP": {",".join(ports): maps},
        "QUEUE": {",".join(ports) + "|3-4": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"}},
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "ecn": "ecn_all",
                "wred_green_enable": "true",
                "green_min_threshold": "250000",
                "green_max_threshold": "1048576",
                "green_drop_probability": "5",
            }
        },
        "PFC_WD": {name: {"action": "drop", "detection_time": "200"} for name in ports},
        "BGP_NEIGHBOR": {"10.4.0.1": {"asn": "65000", "name": "T1", "bfd": "true"}},
    }
    for place, value in changes.items():
        table, _, rest = place.partition("__")
        key, _, name = rest.partition("__")
        if not key:
            tables[table] = value
        else:
            tables[table].setdefault(key, {})[name] = value
    return json.dumps(tables)


def found(tmp_path: Path, *texts: str) -> list[tuple[str, str, int]]:
    for number, text in enumerate(texts):
        folder = tmp_path / f"device{number}"
        folder.mkdir()
        (folder / "configuration").write_text(text, encoding="utf-8")
    return [(one.severity, one.what, one.count) for one in lint(tmp_path).findings]


def errors(tmp_path: Path, *texts: str) -> list[str]:
    return [what for severity, what, _ in found(tmp_path, *texts) if severity == "error"]


@pytest.mark.parametrize("text", [leaf(1), NVUE, sonic()], ids=["eos", "nvue", "sonic"])
def test_a_good_configuration_of_each_system_passes(text: str, tmp_path: Path) -> None:
    assert errors(tmp_path, text) == []


def test_what_is_not_understood_is_listed_by_its_own_words(tmp_path: Path) -> None:
    text = leaf(1).replace(
        "   service-profile ROCE\n", "   frobnicate fast\n   service-profile ROCE\n"
    )
    (severity, what, count), *_ = found(
        tmp_path, text, NVUE.replace("enable: on\n        mode", "gear: 3\n        mode")
    )
    assert (severity, count) == ("warning", 1)
    assert "interface Ethernet1/1 > frobnicate fast" in what
    second = lint(tmp_path).devices[1]
    assert "interface swp1 ip ipv6 forward on" in second.unknown
    third = sonic(ACL_TABLE={"DATAACL": {"type": "L3"}}, PORT__Ethernet0__colour="blue")
    other = tmp_path / "sonic"
    other.mkdir()
    (other / "config_db.json").write_text(third, encoding="utf-8")
    assert lint(other).devices[0].unknown == ("PORT|Ethernet0 colour", "ACL_TABLE (1 rows)")


# Row 10 of what was tried on live fabrics: each of these was passed over.
def test_eos_ports_without_pfc_ecn_or_mtu_are_found(tmp_path: Path) -> None:
    text = (
        leaf(2)
        .replace("   speed 400g-4\n", "")
        .replace("   service-profile ROCE\n!\ninterface L", "!\ninterface L")
    )
    assert errors(tmp_path, leaf(1), text) == [
        "pauses nothing, other ports priorities [3]",
    ]
    line = "      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes"
    line += " weight 0\n"
    second = tmp_path / "ecn"
    second.mkdir()
    assert errors(second, leaf(1), leaf(2).replace(line, "")) == [
        "queue 3 is paused and marks nothing: only pauses slow senders down"
    ]
    third = tmp_path / "mtu"
    third.mkdir()
    (what,) = errors(third, leaf(1), leaf(2).replace("   mtu 9214\n   speed", "   speed"))
    assert what == "its MTU is 1500: RDMA packets of 4096 bytes do not fit"


def test_nvue_lossy_is_found(tmp_path: Path) -> None:
    lossy = NVUE.replace("mode: lossless", "mode: lossy")
    assert found(tmp_path, lossy)[0][0] == "warning"  # alone, it may be meant
    second = tmp_path / "two"
    second.mkdir()
    other = lossy.replace("10.0.0.7", "10.0.0.8").replace("10.3.0.0", "10.3.0.2")
    assert "pauses nothing, other ports priorities [3]" in errors(second, NVUE, other)


def test_a_sonic_port_that_is_down_is_found(tmp_path: Path) -> None:
    (what,) = errors(tmp_path, sonic(PORT__Ethernet0__admin_status="down"))
    assert what == "is switched off, though it has an address"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (sonic(PFC_WD={}), "pauses without a watchdog: one stuck NIC stops the fabric"),
        (
            sonic(PORT__Ethernet8__mtu="1500"),
            "its MTU is 1500: RDMA packets of 4096 bytes do not fit",
        ),
        (sonic(PORT__Ethernet8__mtu="9216"), "its MTU is 9216, that of most ports 9100"),
        (
            sonic(PORT__Ethernet0__speed="100000"),
            "its speed is 100 Gb/s, its breakout gives 400",
        ),
        (
            sonic(DSCP_TO_TC_MAP__AZURE__4="0"),
            "pauses priorities [4], and no DSCP has them",
        ),
        (
            sonic(WRED_PROFILE__AZURE_LOSSLESS__green_min_threshold="2000000"),
            "queue 3 marks from 2000000 to 1048576 bytes, 5 %",
        ),
        (
            sonic(BGP_NEIGHBOR={"10.4.0.1": {"asn": "65200", "bfd": "true"}}),
            "its neighbour's system 65200 is its own",
        ),
        (
            leaf(1).replace("min-rx 300 multiplier 3", "min-rx 2000 multiplier 5"),
            "BFD notices a silent neighbour after 10000 ms",
        ),
        (
            leaf(1).replace("   mtu 9214\n   speed", "   shutdown\n   mtu 9214\n   speed"),
            "is switched off, though it has an address",
        ),
    ],
)
def test_a_planted_error_is_found(text: str, what: str, tmp_path: Path) -> None:
    assert what in errors(tmp_path, text)


def test_devices_are_held_against_one_another(tmp_path: Path) -> None:
    spine = (
        leaf(3)
        .replace("10.2.3.0/31", "10.2.1.1/31")
        .replace("router bgp 65103", "router bgp 65009")
        .replace("10.2.3.1", "10.2.1.0")
        .replace("remote-as 65000", "remote-as 65101")
    )
    (what,) = errors(tmp_path, leaf(1), spine)
    assert "expects autonomous system 65000" in what
    assert "has 65009" in what
    second = tmp_path / "twice"
    second.mkdir()
    double = leaf(2).replace("ip address 10.1.2.0/31", "ip address 10.1.1.0/31")
    (what,) = errors(second, leaf(1), double)
    assert "the address 10.1.1.0 is given 2 times" in what


def test_sessions_without_bfd_are_found_once_others_have_it(tmp_path: Path) -> None:
    bare = (
        leaf(2)
        .replace("   neighbor SPINES bfd\n", "")
        .replace("   neighbor SPINES bfd interval 300 min-rx 300 multiplier 3\n", "")
    )
    (what,) = errors(tmp_path, leaf(1), bare)
    assert what.startswith("its BGP session has no BFD")
    second = tmp_path / "none"
    second.mkdir()
    assert [row[0] for row in found(second, bare)] == ["warning"]


def test_one_cause_is_one_error_with_all_its_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = in_every_language(build("rocev2-400g"))
    for name in ("leaf000", "leaf001"):
        text = files[f"switches/{name}/eos.conf"]
        if name == "leaf001":
            text = text.replace("   priority-flow-control on\n", "")
        (tmp_path / f"{name}.conf").write_text(text, encoding="utf-8")
    assert main(["deploy", "check", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    # A leaf of 64 nodes on Tomahawk 5: 64 hosts and 64 uplinks.
    assert "error: 128 ports: leaf001.conf: Ethernet1/1 ... leaf001.conf: Ethernet64/5" in said
    assert "1 error, 0 warnings" in said
    assert "read 2 of eos: 256 ports" in said
    assert main(["deploy", "check", str(tmp_path), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    (finding,) = result["findings"]
    assert len(finding["places"]) == 128
    assert [one["not_understood"] for one in result["devices"]] == [[], []]


def test_a_file_by_itself_is_held_to_the_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config_db.json"
    path.write_text(sonic(PFC_WD={}), encoding="utf-8")
    assert main(["deploy", "check", str(path)]) == 1
    assert "error: 3 ports: config_db.json: Ethernet0 ... config_db.json: Ethernet16" in (
        capsys.readouterr().out
    )


def test_a_folder_without_any_configuration_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("spine1 is in rack 7\n", encoding="utf-8")
    assert main(["deploy", "check", str(tmp_path)]) == 1
    assert "no configuration of SONiC, NVUE, EOS or FRR: notes.txt" in (capsys.readouterr().out)


@pytest.mark.parametrize("cut", [b"", b'{"PORT": {"Ethernet0": {"mtu": "91', b"\xff\xfe\x00"])
def test_a_file_that_is_cut_short_is_an_error_though_others_are_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: bytes
) -> None:
    for name, text in (("leaf001", sonic().encode()), ("leaf002", cut)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config_db.json").write_bytes(text)
    assert main(["deploy", "check", str(tmp_path)]) == 1
    assert "error: leaf002/config_db.json\n  is cut short" in capsys.readouterr().out


def test_a_folder_without_files_is_not_called_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fetched" / "leaf001").mkdir(parents=True)
    assert main(["deploy", "check", str(tmp_path / "fetched")]) == 2
    assert "fetched: there are no files in it; fetch the switches'" in capsys.readouterr().err


@pytest.mark.timeout(60)
def test_a_pipe_and_a_device_are_refused_and_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        assert main(["deploy", "check", path]) == 2
        assert f"{path}: " in capsys.readouterr().err


def test_what_netloom_renders_is_understood_to_the_last_line() -> None:
    site = """{ntp: [10.9.0.1], dns: [10.9.0.2], syslog: {servers: [10.9.0.3]},
      snmp: {location: hall 1}, aaa: {tacacs: [10.9.0.4]}, admin_secret_variable: ADMIN,
      management: {network: 10.9.0.0/16, gateway: 10.9.0.254, first: 1000}}"""
    for tenants in ("[]", "[{name: red, nodes: 0-31}]"):
        intent = build("rocev2-400g", tenants=tenants, site=site)
        for number in (len(intent.site.nics), len(intent.site.plant.devices) - 1):
            for _, file in switch_files():
                if file.read_device is not None:
                    text = file.render(intent, number)
                    assert file.is_like is not None
                    assert file.is_like(text), file.name
                    assert file.read_device(text, file.name).unknown == (), file.name


def test_commands_and_the_document_say_the_same() -> None:
    for tenants in ("[]", "[{name: red, nodes: 0-31}]"):
        files = in_every_language(build("rocev2-400g", tenants=tenants))
        for name in ("leaf000", "spine000"):
            script, document = (files[f"switches/{name}/nvue.{end}"] for end in ("sh", "yaml"))
            assert sorted(paths(script)) == sorted(paths(document))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("swp1-3", ["swp1", "swp2", "swp3"]),
        ("swp2,6", ["swp2", "swp6"]),
        ("swp9s0-1,swp11", ["swp9s0", "swp9s1", "swp11"]),
        ("lo", ["lo"]),
        ("swp3-1", []),
    ],
)
def test_ranges_of_nvue_are_written_out(text: str, names: list[str]) -> None:
    assert expanded(text) == names


def test_what_is_unset_is_gone() -> None:
    text = "nv set interface swp1 link mtu 9216\nnv set qos roce\nnv unset interface\n"
    assert paths(text) == [("qos", "roce")]


BASES = (leaf(1), NVUE, sonic(), "frr version 8.4\nrouter bgp 1\n neighbor swp1 interface\n")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_readers_of_configurations_answer_anything(data: st.DataObject) -> None:
    """A broken file is an error with words, never a traceback, and never a hang."""
    base = data.draw(st.sampled_from(BASES))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(base)))
        junk = data.draw(
            st.one_of(
                st.text(max_size=12),
                st.sampled_from(["{", "[" * 50, "&a [*a]", "-", "'", "999999999999", "swp1-9999"]),
            )
        )
        length = data.draw(st.integers(0, 12))
        base = base[:place] + junk + base[place + length :]
    for _, file in switch_files():
        if file.read_device is not None and file.is_like is not None and file.settings is not None:
            file.is_like(base)
            for read in (partial(_device, file), file.settings):
                assert answers(read, base)


def _device(file: SwitchFile, text: str) -> object:
    assert file.read_device is not None
    return file.read_device(text, "x")


def answers(read: Callable[[str], object], text: str) -> bool:
    """Return whether a reader gives a value or an error in words."""
    try:
        read(text)
    except NetloomError as error:
        return bool(str(error))
    return True
