"""Deployments reach real FRR and real OpenSM, and what breaks them is found or undone."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import infiniband_lab, need, roce_lab, write_scenario

from netloom.app.deploy.checking import Checks, check_deployment
from netloom.app.deploy.files import deployment_files
from netloom.app.deploy.frr_target import FrrTarget
from netloom.app.deploy.lab_targets import targets_of
from netloom.app.deploy.opensm_target import OpensmTarget
from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of
from netloom.cli.main import main
from netloom.drivers import frr, ibdiags
from netloom.drivers import ibdiags as partition_keys_ibdiags
from netloom.drivers.programs import missing_packages, run
from netloom.formats.infiniband import ibsim_topology
from netloom.ops.deploy.changes import apply_all
from netloom.ops.deploy.intent import intent_of
from netloom.ops.lab import namespace_of
from netloom.spec.load import load
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labs_under_test import LabUnderTest

    from netloom.ops.deploy.intent import Intent

pytestmark = pytest.mark.lab

TENANTS = 'tenants: [{name: a, nodes: "0"}, {name: b, nodes: "1"}]\n'


def intent_at(path: Path) -> Intent:
    scenario = load(path)
    return intent_of(scenario, catalog_of(scenario, None))


def texts_of(intent: Intent) -> dict[str, str]:
    return {p: t for p, t in deployment_files(intent).items() if isinstance(t, str)}


@pytest.fixture(scope="module")
def roce(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    missing = missing_packages(["frr-reload.py"])
    if missing:
        pytest.skip(f"apt-get install {' '.join(missing)}")
    with roce_lab(tmp_path_factory.mktemp("roce")) as made:
        yield made


@pytest.fixture
def switches(roce: LabUnderTest) -> tuple[FrrTarget, ...]:
    found = targets_of(roce.place, intent_at(roce_scenario(roce)))
    return tuple(one for one in found if isinstance(one, FrrTarget))


def roce_scenario(lab: LabUnderTest) -> Path:
    return write_scenario(lab.place.path.parent.parent, "rocev2-400g", 1)


def command(
    verb: str, scenario: Path, lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    where = ["--lab", lab.place.name, "--dir", str(lab.place.path.parent)]
    code = main(["deploy", verb, str(scenario), *where, "--json"])
    return code, json.loads(capsys.readouterr().out)["result"]


def test_a_switch_that_drifted_is_found_and_brought_back(
    roce: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = roce_scenario(roce)
    leaf = namespace_of(roce.place.mark, "leaf:2")
    assert command("plan", scenario, roce, capsys)[1]["changes"][2]["lines"] == []
    drift = ["-c", "configure terminal", "-c", "router bgp 4200000002", "-c", "timers bgp 7 21"]
    run(frr.vtysh_argv(leaf, drift))
    code, plan = command("plan", scenario, roce, capsys)
    changed = {one["device"]: one["lines"] for one in plan["changes"] if one["lines"]}
    assert code == 0
    assert changed == {
        "leaf002": [
            "- router bgp 4200000002 / no timers bgp 7 21",
            "+ router bgp 4200000002 / timers bgp 1 3",
        ]
    }
    code, done = command("apply", scenario, roce, capsys)
    states = {one["device"]: one["state"] for one in done["devices"]}
    assert code == 0
    assert states.pop("leaf002") == "applied"
    assert set(states.values()) == {"unchanged"}
    assert all(peer.is_up for peer in frr.peers(leaf))


def test_a_change_that_loses_sessions_is_undone_and_others_go_on(
    switches: tuple[FrrTarget, ...],
) -> None:
    wrong = switches[0].text.replace("remote-as external", "remote-as internal")
    slower = switches[2].text.replace("timers bgp 1 3", "timers bgp 2 6")
    targets = [
        replace(switches[0], text=wrong, settle_s=4.0),
        replace(switches[1], pathspace="nl_not-there"),
        replace(switches[2], text=slower),
        replace(switches[3], text=switches[3].text.replace("router bgp", "ruoter bgp")),
    ]
    before = switches[0].snapshot()
    done = list(apply_all(targets))
    assert [one.state for one in done] == ["rolled back", "refused", "applied", "refused"]
    assert "session swp3" in done[0].error
    assert switches[0].difference() == switches[3].difference() == ()
    switches[0].verify(before)
    saved = frr.CONFIGURATION / switches[0].pathspace / "frr.conf"
    assert "remote-as external" in saved.read_text()
    assert [one.state for one in apply_all(switches)].count("applied") == 1  # timers, put back


def test_vtysh_names_the_line_that_it_refuses(roce: LabUnderTest) -> None:
    intent = intent_at(roce_scenario(roce))
    files = texts_of(intent)
    assert check_deployment(intent, files, Checks()) == ()
    path = "switches/leaf001/sonic/frr.conf"
    files[path] = files[path].replace(" timers bgp 1 3", " tmiers bgp 1 3")
    every = check_deployment(intent, files, Checks())
    assert any("not understood" in one.what for one in every if one.severity == "warning")
    (found,) = (one for one in every if one.severity == "error")
    assert found.where == path
    assert "tmiers bgp 1 3" in found.what


@pytest.fixture(scope="module")
def infiniband(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with infiniband_lab(tmp_path_factory.mktemp("ib")) as made:
        yield made


def infiniband_scenario(lab: LabUnderTest, *, tenants: str = "") -> Path:
    path = write_scenario(lab.place.path.parent.parent, "infiniband-ndr", 2)
    own = path.with_name("tenants.yaml")
    own.write_text(path.read_text(encoding="utf-8") + tenants, encoding="utf-8")
    return own


def client(lab: LabUnderTest, host: str = "nic:0") -> ibdiags.Client:
    """Return the view from a host; the subnet manager's own may ask everybody."""
    (network,) = subnets_of(lab.place, lab.place.read(), lab.place.read_plant())
    return client_of(lab.place, network, host=host)


def keys_of(lab: LabUnderTest, *hosts: int) -> list[set[int]]:
    guid = partial(ibsim_topology.port_guid_of, lab.place.read_plant())
    ask = client(lab).run
    return [set(partition_keys_ibdiags.partition_keys(ask, guid(host))) for host in hosts]


def test_tenants_are_kept_apart_and_let_together_again(
    infiniband: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    command("apply", infiniband_scenario(infiniband), infiniband, capsys)
    assert keys_of(infiniband, 1, 9) == [{0xFFFF}, {0xFFFF}]
    scenario = infiniband_scenario(infiniband, tenants=TENANTS)
    code, done = command("apply", scenario, infiniband, capsys)
    assert (code, [one["state"] for one in done["devices"]]) == (0, ["applied"])
    # nic:0 to nic:7 are node 0's; key 1 and 2 with the bit of full members.
    assert keys_of(infiniband, 1, 7, 9) == [{0x7FFF, 0x8001}, {0x7FFF, 0x8001}, {0x7FFF, 0x8002}]
    ask = client(infiniband, "nic:1").run
    guid = partial(ibsim_topology.port_guid_of, infiniband.place.read_plant())
    # The subnet administration answers for a path within a tenant, and not for one across.
    assert partition_keys_ibdiags.partition_keys(ask, guid(7)) == (0x7FFF, 0x8001)
    assert "can't resolve destination" in ask("smpquery", "-G", "nodeinfo", f"0x{guid(9):x}")
    assert command("plan", scenario, infiniband, capsys)[1]["changes"][0]["lines"] == []
    scenario = infiniband_scenario(infiniband)
    code, done = command("apply", scenario, infiniband, capsys)
    assert (code, [one["state"] for one in done["devices"]]) == (0, ["applied"])
    assert keys_of(infiniband, 1, 9) == [{0xFFFF}, {0xFFFF}]


def test_levels_go_over_lanes_of_their_own_and_no_lane_goes_first(
    infiniband: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    command("apply", infiniband_scenario(infiniband, tenants=TENANTS), infiniband, capsys)
    ask, plant = client(infiniband).run, infiniband.place.read_plant()
    for device in (1, len(plant.hosts)):  # a NIC port, and the first leaf
        where = f"0x{ibsim_topology.port_guid_of(plant, device):x}"
        lanes = ask("smpquery", "-G", "sl2vl", where, "1")
        assert "| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3|" in lanes
        turns = ask("smpquery", "-G", "vlarb", where, "1")
        low, high = (line.split() for line in turns.splitlines() if line.startswith("WEIGHT"))
        assert low[1:] == ["|0x40|0x40|0x40|0x40|0x0", "|0x0", "|0x0", "|0x0", "|"]
        assert high[1:] == ["|0x0"] * 8 + ["|"]


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("partitions.conf", "0x02006e6c00000021", "0xzz", "PARSE ERROR"),
        ("qos-policy.conf", "qos-levels", "qos-levls", "ERR AC"),
        ("opensm.conf", "routing_engine updn", "routing_engine dfsssp", "instead of dfsssp"),
    ],
)
def test_files_that_opensm_passes_over_are_undone(
    infiniband: LabUnderTest, name: str, old: str, new: str, says: str
) -> None:
    intent = intent_at(infiniband_scenario(infiniband, tenants=TENANTS))
    (target,) = targets_of(infiniband.place, intent)
    assert isinstance(target, OpensmTarget)
    assert [one.is_good for one in apply_all([target])] == [True]
    bad = {**target.files, name: target.files[name].replace(old, new)}
    engine = "dfsssp" if "dfsssp" in new else target.engine
    (done,) = apply_all([replace(target, files=bad, engine=engine)])
    assert done.state == "rolled back"
    assert says in done.error
    assert target.difference() == ()
    assert keys_of(infiniband, 1, 9) == [{0x7FFF, 0x8001}, {0x7FFF, 0x8002}]


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("partitions.conf", "0x02006e6c00000021", "0xzz", "PARSE ERROR"),
        ("qos-policy.conf", "qos-levels", "qos-levls", "Syntax error"),
        ("opensm.conf", "updn,no_fallback", "ar_ftree", "minhop instead of updn"),
    ],
)
def test_a_trial_on_a_simulated_fabric_finds_what_opensm_passes_over(
    infiniband: LabUnderTest, name: str, old: str, new: str, says: str
) -> None:
    intent = intent_at(infiniband_scenario(infiniband, tenants=TENANTS))
    files = texts_of(intent)
    assert check_deployment(intent, files, Checks()) == ()
    path = f"opensm/0/{name}"
    files[path] = files[path].replace(old, new)
    found = check_deployment(intent, files, Checks())
    assert any(says in one.what and one.severity == "error" for one in found), found


def test_a_lab_of_another_network_is_refused(
    infiniband: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    need("infiniband")
    scenario = write_scenario(infiniband.place.path.parent.parent, "infiniband-hdr", 2)
    where = ["--lab", infiniband.place.name, "--dir", str(infiniband.place.path.parent)]
    assert main(["deploy", "apply", str(scenario), *where]) == 2
    assert "whose network is another" in capsys.readouterr().err
