"""Slurm, FRR, hosts and InfiniBand ports changed over a real sshd: real daemons behind it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from devices_under_test import daemon, inventory, need
from labs_under_test import write_scenario
from slurm_under_test import scontrol, slurm
from ssh_under_test import ssh_site, wait_until, write_program

from netloom.app.heal.fleet_actuator import change_device
from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of
from netloom.app.lab.store import LabFolder
from netloom.cli.main import main
from netloom.drivers import ibdiags
from netloom.drivers.programs import find_program
from netloom.drivers.writers.frr import FrrWriter
from netloom.drivers.writers.host import HostWriter
from netloom.drivers.writers.infiniband import PortStateWriter
from netloom.drivers.writers.slurm import SlurmWriter
from netloom.errors import LabError
from netloom.ops.heal.devices import SettingChange
from netloom.ops.observe.devices import DeviceAccess

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab
BGP = """
router bgp 65001
 no bgp ebgp-requires-policy
 neighbor swp1 interface remote-as external
 neighbor swp2 interface remote-as external
"""


@pytest.fixture
def head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A cluster's controller, and how to reach it."""
    site = ssh_site(tmp_path / "ssh", monkeypatch)
    with slurm(tmp_path) as config:
        programs = tmp_path / "none"
        programs.mkdir()
        with site.device("head", programs, {"SLURM_CONF": str(config)}) as address:
            yield config, address


def test_a_node_takes_no_jobs_and_takes_them_again(head: tuple[Path, str]) -> None:
    config, address = head
    writer = SlurmWriter(access=DeviceAccess(name="head", address=address, deadline_s=20))
    cordon = SettingChange(kind="node", label="gpu0")
    assert writer.state(cordon) == "in-use"
    change_device(writer, cordon, "netloom-1")
    shown = scontrol(config, "show", "node", "gpu0")
    assert "State=IDLE+DRAIN" in shown
    assert "Reason=netloom-1 [root@" in shown
    assert [one.name for one in writer.nodes() if one.is_cordoned] == ["gpu0"]
    change_device(writer, cordon.with_use(in_use=True), "netloom-2")
    assert "DRAIN" not in scontrol(config, "show", "node", "gpu0")
    for label in ("gpu9", "gpu[0-7]", "ALL", "gpu0 State=DOWN"):
        with pytest.raises(LabError):
            writer.state(SettingChange(kind="node", label=label))


def test_nodes_that_a_person_cordoned_count_toward_the_limit(
    head: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of eight machines a quarter may be away: a person's and one more."""
    config, address = head
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=8)
    scenario.write_text(scenario.read_text().replace("catalog: own.toml\n", ""))
    device = {"name": "head", "kind": "slurm", "address": address, "write": True}
    fleet = inventory(tmp_path, [{**device, "labels": "gpu{node}", "deadline": "20s"}])
    policy = tmp_path / "policy.yaml"
    policy.write_text("heal: {most_nodes_away: 25%}", encoding="utf-8")

    def heal(*options: str) -> tuple[int, dict[str, Any]]:
        argv = ["heal", str(scenario), "--inventory", str(fleet), "--policy", str(policy)]
        capsys.readouterr()
        status = main([*argv, "--dir", str(tmp_path / "state"), "--json", *options])
        return status, json.loads(capsys.readouterr().out)["result"]

    scontrol(config, "update", "NodeName=gpu5", "State=DRAIN", "Reason=memory")
    status, shown = heal("--act", "cordon node:0")
    assert status == 0
    (step,) = shown["plans"]
    assert "scontrol update NodeName=gpu0 State=DRAIN" in step["requests"][0]
    status, done = heal("--yes", step["fingerprint"], "--by", "Ada")
    assert status == 0, done
    assert "DRAIN" in scontrol(config, "show", "node", "gpu0")
    status, shown = heal("--act", "cordon node:1")
    assert status == 1
    assert shown["plans"][0]["verdict"] == "refuse"
    assert "3 of 8 machines" in shown["plans"][0]["reasons"][0]
    assert heal("--undo", "1")[0] == 0
    assert "DRAIN" not in scontrol(config, "show", "node", "gpu0")
    assert "Reason=memory" in scontrol(config, "show", "node", "gpu5")


@contextmanager
def bgpd(folder: Path) -> Iterator[str]:
    """Run a real bgpd with two neighbours; give its path space."""
    need("bgpd", "vtysh")
    space = f"nlact{os.getpid()}"
    place = Path("/var/run/frr") / space
    place.mkdir(parents=True)
    config = folder / "bgpd.conf"
    config.write_text(BGP, encoding="utf-8")
    argv = ["bgpd", "-S", "-n", "-N", space, "-f", str(config), "-p", "0", "-P", "0"]
    try:
        shutil.chown(place, "frr", "frr")
        with daemon([*argv, "-i", str(folder / "pid")], folder, (place / "bgpd.vty").exists):
            yield space
    finally:
        shutil.rmtree(place)


def test_bgp_sessions_and_a_whole_router_are_drained_by_a_real_vtysh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = ssh_site(tmp_path / "ssh", monkeypatch)
    programs = tmp_path / "programs"
    programs.mkdir()
    with bgpd(tmp_path) as space:
        real = f'#!/bin/sh\nexec {find_program("vtysh")} -N {space} "$@"\n'
        write_program(programs / "vtysh", real)
        with site.device("leaf", programs, {}) as address:
            writer = FrrWriter(access=DeviceAccess(name="leaf", address=address, deadline_s=20))
            shut = SettingChange(kind="session", label="swp1")
            assert writer.state(shut) == "in-use"
            change_device(writer, shut, "netloom-1")
            assert writer.state(shut) == "out-of-use"
            assert writer.state(SettingChange(kind="session", label="swp2")) == "in-use"
            change_device(writer, shut.with_use(in_use=True), "netloom-2")
            assert writer.state(shut) == "in-use"
            drain = SettingChange(kind="switch")
            change_device(writer, drain, "netloom-3")
            assert writer.state(drain) == "out-of-use"
            change_device(writer, drain.with_use(in_use=True), "netloom-4")
            assert writer.state(drain) == "in-use"
            with pytest.raises(LabError, match="no neighbour"):
                writer.state(SettingChange(kind="session", label="swp9"))


def test_a_port_of_a_host_is_shut_and_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("ip")
    site = ssh_site(tmp_path / "ssh", monkeypatch)
    space, ip = f"nlact{os.getpid()}", find_program("ip")
    programs = tmp_path / "programs"
    programs.mkdir()
    write_program(programs / "ip", f'#!/bin/sh\nexec {ip} -n {space} "$@"\n')
    subprocess.run([ip, "netns", "add", space], check=True)  # noqa: S603  (a test's own)
    try:
        pair = ["link", "add", "eth2", "up", "type", "veth", "peer", "name", "far"]
        subprocess.run([ip, "-n", space, *pair], check=True)  # noqa: S603
        with site.device("node", programs, {}) as address:
            writer = HostWriter(access=DeviceAccess(name="node", address=address, deadline_s=20))
            shut = SettingChange(kind="port", label="eth2")
            assert writer.state(shut) == "in-use"
            change_device(writer, shut, "netloom-1")
            assert writer.state(shut) == "out-of-use"
            change_device(writer, shut.with_use(in_use=True), "netloom-2")
            assert writer.state(shut) == "in-use"
            with pytest.raises(LabError):
                writer.state(SettingChange(kind="port", label="eth2; reboot"))
    finally:
        subprocess.run([ip, "netns", "del", space], check=True)  # noqa: S603


def test_a_port_of_a_subnet_is_disabled_and_enabled_by_a_real_ibportstate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSM and ibsim: the switch says so itself, and OpenSM routes around it."""
    need("opensm", "ibsim", "ibportstate", "ibnetdiscover")
    site = ssh_site(tmp_path / "ssh", monkeypatch)
    scenario = write_scenario(tmp_path, "infiniband-ndr", nodes=1)
    name, labs = f"ibact{os.getpid()}", str(tmp_path / "labs")
    assert main(["lab", "up", str(scenario), "--name", name, "--dir", labs]) == 0
    try:
        place = LabFolder.of(name, tmp_path / "labs")
        plant = place.read_plant()
        (subnet,) = subnets_of(place, place.read(), plant)
        client = client_of(place, subnet, host=subnet.hosts[0])
        guid = next(row.guid for row in ibdiags.ports(client) if row.name == "leaf:0")
        leaf = plant.number("leaf:0")
        number = next(c.lower.number for c in plant.cables if c.lower.device == leaf)
        programs = tmp_path / "programs"
        programs.mkdir()
        env = " ".join(f"{key}={value}" for key, value in client.env.items())
        real = f'cd {client.folder} && exec env {env} {find_program("ibportstate")} "$@"'
        write_program(programs / "ibportstate", f"#!/bin/sh\n{real}\n")
        with site.device("sm", programs, {}) as address:
            access = DeviceAccess(name=f"{guid:#018x}", address=address, deadline_s=20)
            writer = PortStateWriter(access=access)
            shut = SettingChange(kind="port", label=str(number))
            assert writer.state(shut) == "in-use"
            change_device(writer, shut, "netloom-1")
            wait_until(lambda: not seen(client, "leaf:0", number))
            change_device(writer, shut.with_use(in_use=True), "netloom-2")
            assert writer.state(shut) == "in-use"  # ibsim leaves it there, and trains no link
    finally:
        assert main(["lab", "down", name, "--dir", labs]) == 0


def seen(client: ibdiags.Client, name: str, number: int) -> bool:
    """Return whether ibnetdiscover sees a cable at a port."""
    rows = [row for row in ibdiags.ports(client) if (row.name, row.port) == (name, number)]
    return any(row.peer_guid is not None for row in rows)
