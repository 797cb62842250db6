"""What is written for devices and people: equal every time, and each file in its own language."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from typing import TYPE_CHECKING

import openpyxl
import pytest
from deployments import build, in_every_language, render

from netloom.app.deploy.files import MANIFEST, deployment_files
from netloom.app.deploy.folder import read_folder, write_folder
from netloom.errors import OutputError, SpecError
from netloom.formats.infiniband.guids import guids_from
from netloom.formats.infiniband.ibsim_topology import port_guid_of
from netloom.results.write import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.ops.deploy.intent import Intent


TENANTS = "[{name: a, nodes: 0-31}, {name: b, nodes: 32-63}]"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_equal_scenarios_give_equal_files_and_the_manifest_has_their_digests() -> None:
    first = deployment_files(build("infiniband-ndr"))
    assert first == deployment_files(build("infiniband-ndr"))
    named = json.loads(first[MANIFEST])["files"]
    assert set(named) == set(first) - {MANIFEST}
    for path, digest in named.items():
        content = first[path]
        data = content if isinstance(content, bytes) else content.encode()
        assert hashlib.sha256(data).hexdigest() == digest


def test_the_spreadsheet_has_every_cable_of_the_list() -> None:
    files = deployment_files(build("infiniband-ndr"))
    content = files["cabling/point-to-point.xlsx"]
    assert isinstance(content, bytes)
    book = openpyxl.load_workbook(io.BytesIO(content))
    found = [tuple(map(str, row)) for sheet in book for row in sheet.iter_rows(2, values_only=True)]
    listed = rows(str(files["cabling/point-to-point.csv"]))
    # 512 NICs and, without oversubscription, as many cables from leaves to spines.
    assert len(listed) == 2 * 512
    assert book.sheetnames == ["node - leaf", "leaf - spine"]
    assert [row[0] for row in found] == [row["cable_id"] for row in listed]


def test_cables_in_all_lists_join_the_same_ports() -> None:
    files = render(build("rocev2-400g"))
    listed = rows(files["cabling/point-to-point.csv"])
    imported = rows(files["netbox/cables.csv"])
    ports = {(row["device"], row["name"]) for row in rows(files["netbox/interfaces.csv"])}
    assert len(ports) == 2 * len(listed)  # every port once
    for one, other in zip(listed, imported, strict=True):
        assert (one["a_device"], one["a_port"]) == (other["side_a_device"], other["side_a_name"])
        assert (one["b_device"], one["b_port"]) == (other["side_b_device"], other["side_b_name"])
        assert (one["a_device"], one["a_port"]) in ports
    assert files["fabric.dot"].count(" -- ") == len(listed)


def test_a_switch_is_called_the_same_in_every_language() -> None:
    files = in_every_language(build("rocev2-400g"))
    folder = "switches/spine002"
    assert files[f"{folder}/frr.conf"].startswith("hostname spine002\n")
    assert "nv set system hostname spine002\n" in files[f"{folder}/nvue.sh"]
    assert "hostname spine002\n" in files[f"{folder}/eos.conf"]
    config = json.loads(files[f"{folder}/sonic/config_db.json"])
    assert config["DEVICE_METADATA"]["localhost"]["hostname"] == "spine002"


def test_sonic_s_routing_names_sonic_s_ports() -> None:
    files = render(build("rocev2-400g"))
    text = files["switches/leaf000/sonic/frr.conf"]
    config = json.loads(files["switches/leaf000/sonic/config_db.json"])
    unnumbered = {name for name, row in config["INTERFACE"].items() if row}
    assert unnumbered
    for name in unnumbered:
        assert f" neighbor {name} interface peer-group fabric\n" in text
    assert "swp" not in text
    assert "interface lo\n" not in text  # Loopback0 of config_db has the address


def test_sonic_s_lanes_are_used_once() -> None:
    config = json.loads(render(build("rocev2-400g"))["switches/leaf000/sonic/config_db.json"])
    lanes = [lane for port in config["PORT"].values() for lane in port["lanes"].split(",")]
    # 128 ports of 4 lanes of 100 Gb/s.
    assert sorted(map(int, lanes)) == list(range(1, 513))
    assert config["PORT"]["Ethernet4"]["alias"] == "etp1b"


def test_eos_names_the_system_at_the_other_end() -> None:
    intent = build("rocev2-400g")
    text = in_every_language(intent)["switches/leaf000/eos.conf"]
    spine = next(router for router in intent.underlay.routers if router.name == "spine:0")  # type: ignore[union-attr]
    # Port 65 is the first uplink: the first port of cage 33.
    line = f"   neighbor interface Ethernet33/1 peer-group FABRIC remote-as {spine.asn}\n"
    assert line in text


def test_nvue_splits_cages_before_it_uses_them() -> None:
    lines = in_every_language(build("rocev2-400g"))["switches/leaf000/nvue.sh"].splitlines()
    split = lines.index("nv set interface swp1 link breakout 2x")
    assert split < lines.index("nv set interface swp1s0 link mtu 9216")
    assert lines[-1] == "nv config apply -y"


def test_nvue_is_told_the_longest_cable_of_the_switch() -> None:
    intent = build("rocev2-400g")
    leaf = len(intent.site.nics)
    longest_m = max(intent.site.length_m(cable) for cable in intent.site.cables_of[leaf])
    line = f"nv set qos pfc default-global cable-length {longest_m:.0f}\n"
    assert line in in_every_language(intent)["switches/leaf000/nvue.sh"]


def test_a_network_that_may_lose_has_no_pauses() -> None:
    files = in_every_language(build("tcp-400g"))
    folder = "switches/leaf000"
    assert "PFC_WD" not in json.loads(files[f"{folder}/sonic/config_db.json"])
    assert "roce" not in files[f"{folder}/nvue.sh"]
    assert "priority-flow-control" not in files[f"{folder}/eos.conf"]
    assert "mlnx_qos" not in files["hosts/n0000/nics.sh"]
    assert files["hosts/nccl.env"].startswith("NCCL_NET=Socket\n")


def test_replies_leave_by_the_port_they_came_for() -> None:
    text = render(build("rocev2-400g"))["hosts/n0001/nics.sh"]
    # NIC port 8 of the plant: the ninth /31 of 10.128.0.0/9, the switch at its even address.
    assert 'ip address replace 10.128.0.17/31 dev "$netdev"\n' in text
    assert 'ip route replace 10.128.0.0/9 via 10.128.0.16 dev "$netdev" table 100\n' in text
    assert "ip rule add from 10.128.0.17 lookup 100\n" in text


def test_a_nic_of_another_maker_is_left_out_with_the_reason() -> None:
    files = deployment_files(build("uet-400g", nodes=16, node="mi355x-8"))
    assert not any(path.endswith("nics.sh") for path in files)
    assert "own tools" in json.loads(files[MANIFEST])["skipped"]["hosts/*/nics.sh"]
    assert "ionic_0" in str(files["hosts/nccl.env"])


def test_racks_are_blocks_and_trays_are_nodes_of_slurm() -> None:
    files = render(build("rocev2-400g", nodes=8, node="gb200-nvl72"))
    blocks = files["slurm/topology-block.conf"].splitlines()
    assert blocks[1] == "BlockName=rack1 Nodes=n[0018-0035]"
    assert blocks[-1] == "BlockSizes=18"
    assert files["slurm/topology.conf"].startswith("SwitchName=unit0 Nodes=n[0000-0053]\n")


def test_tenants_get_partitions_levels_and_an_environment() -> None:
    files = render(build("infiniband-ndr", tenants=TENANTS))
    lines = files["opensm/0/partitions.conf"].splitlines()
    assert lines[0] == "Default=0x7fff, ipoib : ALL=limited, SELF=full, ALL_SWITCHES=full ;"
    # 256 ports a tenant, 64 a line.
    assert [line.partition(",")[0] for line in lines[1:]] == ["a=0x0001"] * 4 + ["b=0x0002"] * 4
    assert max(map(len, lines)) < 4096
    assert "NCCL_IB_PKEY=1\nNCCL_IB_SL=2\n" in files["hosts/nccl-b.env"]
    assert "NCCL_IB_PKEY" not in files["hosts/nccl.env"]


def test_levels_stay_the_engine_s_where_it_needs_them() -> None:
    files = render(build("infiniband-ndr", topology="{kind: torus}", tenants=TENANTS))
    assert "routing_engine nue,no_fallback\n" in files["opensm/0/opensm.conf"]
    assert "sl=" not in files["opensm/0/partitions.conf"]
    assert "pkey" not in files["opensm/0/qos-policy.conf"]
    assert "NCCL_IB_SL" not in files["hosts/nccl-a.env"]


def test_rails_without_a_common_switch_have_a_manager_each() -> None:
    files = render(
        build(
            "infiniband-ndr",
            nodes=32,
            topology="{kind: rail-only}",
            tenants="[{name: a, nodes: 0-31}]",
        )
    )
    confs = sorted(path for path in files if path.endswith("partitions.conf"))
    assert confs == [f"opensm/{rail}/partitions.conf" for rail in range(8)]
    # Each rail has one port of each of the 32 nodes.
    assert all(files[path].count("0x02006e6c") == 32 for path in confs)


def discovered(intent: Intent, *, first: int = 0) -> str:
    """Return what ``ibnetdiscover -p`` would print of NIC ports and switches."""
    site = intent.site
    lines = []
    for number, name in enumerate(site.hostnames[first:], start=first):
        is_host = number < len(site.nics)
        kind = "CA" if is_host else "SW"
        shown = f"{name} {site.interface(number)}" if is_host else name
        lines.append(
            f"{kind} {number + 1:5} 1 0x{0xB8CEF603000000 + number:016x} 4x NDR - SW 1 1 "
            f"0x0000000000000001 ( '{shown}' - 'x' )"
        )
    return "\n".join(lines)


def test_guids_of_a_real_fabric_take_the_place_of_the_lab_s() -> None:
    intent = build("infiniband-ndr", tenants=TENANTS)
    guid = guids_from(discovered(intent), intent.site, where="fabric.txt")
    files = deployment_files(intent, guid=guid)
    assert "0x00b8cef603000000, " in str(files["opensm/0/partitions.conf"])
    roots = str(files["opensm/0/roots"]).split()
    spines = [n for n, d in enumerate(intent.site.plant.devices) if d.tier == 2]
    assert roots == [f"0x{0xB8CEF603000000 + number:016x}" for number in spines]
    lab = port_guid_of(intent.site.plant, 0)
    assert f"0x{lab:016x}" not in str(files["opensm/0/partitions.conf"])


def test_a_device_without_a_guid_is_named() -> None:
    intent = build("infiniband-ndr")
    with pytest.raises(SpecError, match=r"fabric.txt: 2 of \d+ devices .* n0000 mlx5_0, n0000"):
        guids_from(discovered(intent, first=2), intent.site, where="fabric.txt")


def test_a_second_render_removes_what_it_no_longer_has_and_nothing_else(tmp_path: Path) -> None:
    def manifest(*paths: str) -> dict[str, str | bytes]:
        named = {"files": dict.fromkeys(paths, ""), "skipped": {}}
        return {**dict.fromkeys(paths, "x\n"), MANIFEST: json.dumps(named)}

    (tmp_path / "mine.txt").write_text("mine")
    assert write_folder(tmp_path, manifest("a/one.sh", "a/two.conf"), write_atomically) == ()
    removed = write_folder(tmp_path, manifest("a/one.sh"), write_atomically)
    assert removed == ("a/two.conf",)
    assert sorted(read_folder(tmp_path)) == ["a/one.sh", MANIFEST, "mine.txt"]
    assert (tmp_path / "a/one.sh").stat().st_mode & 0o777 == 0o755


def test_a_manifest_that_names_files_elsewhere_removes_none_of_them(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("keep")
    folder = tmp_path / "folder"
    folder.mkdir()
    evil = {"files": {"../outside": "", str(outside): ""}}
    (folder / MANIFEST).write_text(json.dumps(evil))
    assert write_folder(folder, {MANIFEST: "{}"}, write_atomically) == ()
    assert outside.read_text() == "keep"


def test_no_symbolic_link_is_followed_out_of_the_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    folder.mkdir()
    (outside / "two.conf").write_text("mine", encoding="ascii")
    (folder / "a").symlink_to(outside)
    with pytest.raises(OutputError, match="symbolic link"):
        write_folder(folder, {"a/one.sh": "x", "a/two.conf": "y"}, write_atomically)
    (folder / "a").unlink()
    (folder / "a").mkdir()
    (folder / "a" / "two.conf").symlink_to(outside / "two.conf")
    with pytest.raises(OutputError, match="symbolic link"):
        write_folder(folder, {"a/one.sh": "x", "a/two.conf": "y"}, write_atomically)
    assert [path.name for path in outside.iterdir()] == ["two.conf"]
    assert (outside / "two.conf").read_text(encoding="ascii") == "mine"
    assert not (folder / "a" / "one.sh").exists()
