"""SONiC's databases in a real redis-server, watched by the command line."""

from __future__ import annotations

import json
import signal
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from devices_under_test import (
    answers,
    certified,
    daemon,
    free_port,
    inventory,
    need,
    watched,
)
from labs_under_test import write_scenario
from sonic_under_test import CONFIG_DB, STATE_DB, SonicSwitch, hostname_of, switches_of

from netloom.cli.operate.designed import designed_at
from netloom.drivers.devices.sonic import look
from netloom.drivers.devices.streams import connected
from netloom.errors import LabError
from netloom.formats.sonic.redis_protocol import command, read_reply
from netloom.ops.observe.devices import DeviceAccess, Secret
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.ops.plant import Plant, Port

pytestmark = pytest.mark.lab
PASSWORD = "right-horse"  # noqa: S105


@dataclass
class RunningSwitch:
    tables: SonicSwitch
    access: DeviceAccess
    process: subprocess.Popen[bytes]

    def load(self) -> None:
        """Write the tables into Redis, as the switch's daemons would."""
        with connected(self.access, port=0, max_bytes=1 << 20) as stream:
            if self.access.secret:
                stream.send(command("AUTH", self.access.secret.reveal()))
                read_reply(stream)
            for words in self.tables.commands():
                stream.send(command(*words))
                read_reply(stream)

    def ask(self, database: int, *words: str) -> str:
        """Return what Redis answers to one command, as text."""
        with connected(self.access, port=0, max_bytes=1 << 20) as stream:
            stream.send(command("SELECT", str(database)))
            read_reply(stream)
            stream.send(command(*words))
            said = read_reply(stream)
        return said.decode() if isinstance(said, bytes) else str(said or "")


@contextmanager
def redis(folder: Path, tables: SonicSwitch, password: str = "") -> Iterator[RunningSwitch]:
    need("redis-server")
    port = free_port()
    settings = f"bind 127.0.0.1\nport {port}\nsave ''\nappendonly no\ndir {folder}\n"
    settings += f"requirepass {password}\n" if password else ""
    argv = ["redis-server", "-"]
    with daemon(argv, folder, lambda: answers(port), text=settings.encode()) as process:
        access = DeviceAccess(
            name=tables.hostname,
            address=f"127.0.0.1:{port}",
            secret=Secret(password) if password else None,
        )
        one = RunningSwitch(tables=tables, access=access, process=process)
        one.load()
        yield one


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write_scenario(tmp_path, "rocev2-400g", nodes=1)


@pytest.fixture
def fabric(scenario: Path, tmp_path: Path) -> Iterator[dict[str, RunningSwitch]]:
    """Four leaves and two spines, each with databases of its own."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(redis(tmp_path, tables))
            for name, tables in switches_of(designed_at(scenario, None).plant).items()
        }


def fleet_of(folder: Path, fabric: dict[str, RunningSwitch], **defaults: object) -> Path:
    devices = [
        {"name": hostname_of(name), "kind": "sonic", "address": one.access.address, "part": name}
        for name, one in fabric.items()
    ]
    return inventory(folder, devices, **{"rest": "0.1s", **defaults})


def test_what_the_databases_hold_becomes_observations(tmp_path: Path) -> None:
    tables = SonicSwitch("leaf0")
    tables.add_port(1, speed_bps=400e9, peer=("spine1", 3))
    tables.put(CONFIG_DB, "INTERFACE|Ethernet0|10.0.0.0/31")
    tables.tables[CONFIG_DB, "INTERFACE|Ethernet0|10.0.0.0/31"] = {"NULL": "NULL"}
    tables.put(STATE_DB, "NEIGH_STATE_TABLE|10.0.0.1", state="Established", peerType="e-BGP")
    tables.put(STATE_DB, "NEIGH_STATE_TABLE|10.9.9.9", state="Idle")
    with redis(tmp_path, tables) as switch:
        report = look(switch.access)
    found = {(one.port, one.inside, one.metric): one.value for one in report.values}
    assert found["Ethernet0", "", "link_up"] == 1
    assert found["Ethernet0", "", "rate_bps"] == 400e9
    assert found["Ethernet0", "", "received_packets"] == 10_010
    assert found["Ethernet0", "", "sent_bytes"] == 20_000_000
    assert found["Ethernet0", "", "fec_corrected_codewords"] == 4321
    assert found["Ethernet0", "", "pre_fec_error_rate"] == 1.7e-9
    assert found["Ethernet0", "priority:3", "pause_frames_received"] == 31
    assert found["Ethernet0", "queue:3", "ecn_marked_packets"] == 51
    assert found["Ethernet0", "queue:3", "queue_peak_bytes"] == 12288
    assert found["Ethernet0", "lane:2", "optic_receive_power_dbm"] == -1.25
    assert found["Ethernet0", "", "optic_temperature_c"] == 41.5
    assert ("Ethernet0", "lane:1", "optic_transmit_power_dbm") not in found  # N/A
    assert (found["Ethernet0", "", "bgp_up"], found["10.9.9.9", "", "bgp_up"]) == (1, 0)
    assert [one[:3] for one in report.neighbours or ()] == [("Ethernet0", "spine1", "etp3")]
    assert report.aliases == {"Ethernet0": "etp1"}


def test_a_healthy_fabric_has_no_finding(
    fabric: dict[str, RunningSwitch],
    scenario: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = fleet_of(tmp_path, fabric)
    report: dict[str, Any] = {}
    for _ in range(3):
        status, report, _log = watched(scenario, fleet, capsys)
        assert (status, report["failing"], report["findings"]) == (0, [], [])
    assert {one["state"] for one in report["devices"]} == {"up"}
    with ObservationStore(tmp_path / "watch.db") as store:
        kept = {(part, metric): value for _, part, metric, value in store.latest()}
    assert kept["leaf:0[1]", "link_up"] == 1
    assert kept["spine:0[1]/queue:3", "ecn_marked_packets"] == 51


def test_versions_are_inventory_and_the_odd_ones_are_named(
    fabric: dict[str, RunningSwitch],
    scenario: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def install(names: list[str], schema: str, firmware: str) -> None:
        for name in names:
            switch = fabric[name]
            switch.tables.put(CONFIG_DB, "DEVICE_METADATA|localhost", hwsku="Mellanox-SN5600")
            switch.tables.put(CONFIG_DB, "VERSIONS|DATABASE", VERSION=schema)
            key = "TRANSCEIVER_FIRMWARE_INFO|Ethernet0"
            switch.tables.put(STATE_DB, key, active_firmware=firmware, inactive_firmware="N/A")
            switch.load()

    def schemas() -> dict[str, Any]:
        found = watched(scenario, fleet, capsys)[1]["versions"]
        return next(one for one in found if one["component"] == "schema")

    fleet = fleet_of(tmp_path, fabric)
    install([*fabric], "version_202311_03", "1.2.0")
    assert schemas() == {
        "kind": "sonic",
        "model": "Mellanox-SN5600",
        "component": "schema",
        "majority": "version_202311_03",
        "num_devices": len(fabric),
        "others": [],
    }
    install(["leaf:1"], "version_202405_01", "1.3.0")
    odd = {"device": hostname_of("leaf:1"), "version": "version_202405_01"}
    assert schemas()["others"] == [odd]
    assert schemas()["others"] == [odd]  # told again, and not an event again
    with ObservationStore(tmp_path / "watch.db") as store:
        events = [one for one in store.events(0, 1e12) if one.kind == "version"]
    changes = [(one.part, one.text) for one in events if "not seen before" not in one.text]
    assert changes == [
        ("leaf:1", "schema: version_202311_03 -> version_202405_01"),
        ("leaf:1", "optic Ethernet0: 1.2.0 -> 1.3.0"),
    ]
    assert len(events) == 2 * len(fabric) + 2


def test_faults_are_found_where_they_are(
    fabric: dict[str, RunningSwitch],
    scenario: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plant = designed_at(scenario, None).plant
    up = [one for one in plant.cables if plant.devices[one.lower.device].name.startswith("leaf")]
    dead, swapped, other, slow, lossy = up[0], up[2], up[4], up[5], up[7]
    fleet = fleet_of(tmp_path, fabric)
    report: dict[str, Any] = {}
    for round_number in range(4):
        for port in dead.ends:
            switch(fabric, plant, port).set_port(port.number, oper_status="down")
        for one, instead in ((swapped, other), (other, swapped)):
            peer = plant.devices[instead.upper.device].name
            tables = switch(fabric, plant, one.lower)
            tables.see(one.lower.number, hostname_of(peer), instead.upper.number)
            far = switch(fabric, plant, instead.upper)
            name = hostname_of(plant.devices[one.lower.device].name)
            far.see(instead.upper.number, name, one.lower.number)
        for port in slow.ends:
            tables = switch(fabric, plant, port)
            tables.put(STATE_DB, f"PORT_TABLE|Ethernet{8 * (port.number - 1)}", speed=100_000)
        counts = {"IF_IN_ERRORS": 5000 * round_number, "IF_IN_UCAST_PKTS": 900_000 * round_number}
        switch(fabric, plant, lossy.upper).count(lossy.upper.number, **counts)
        for running in fabric.values():
            running.load()
        status, report, _log = watched(scenario, fleet, capsys)
        assert (status, report["failing"]) == (0, [])
    found = {(one["part"].split(" ")[0], one["kind"]) for one in report["findings"]}
    assert found == {
        (f"cable:{dead.number}", "missing cable"),
        (f"cable:{swapped.number}", "miswired"),
        (f"cable:{other.number}", "miswired"),
        (f"cable:{slow.number}", "wrong speed"),
        (f"cable:{lossy.number}", "loss"),
    }


def switch(fabric: dict[str, RunningSwitch], plant: Plant, port: Port) -> SonicSwitch:
    return fabric[plant.devices[port.device].name].tables


def test_a_switch_that_hangs_fails_by_its_deadline_and_comes_back(
    fabric: dict[str, RunningSwitch],
    scenario: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = fleet_of(tmp_path, fabric, deadline="0.5s")
    fabric["leaf:1"].process.send_signal(signal.SIGSTOP)
    begun_s = time.monotonic()
    status, report, log = watched(scenario, fleet, capsys)
    assert time.monotonic() - begun_s < 30
    assert (status, report["failing"]) == (1, ["sonic leaf1"])
    states = {one["source"]: one["state"] for one in report["devices"]}
    assert states.pop("sonic leaf1") == "failing"
    assert set(states.values()) == {"up"}
    assert "no whole answer within 0.5 s" in log
    fabric["leaf:1"].process.send_signal(signal.SIGCONT)
    status, report, _log = watched(scenario, fleet, capsys)
    assert (status, report["failing"], report["findings"]) == (0, [], [])


def test_a_password_is_used_and_never_told(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = SonicSwitch("leaf0")
    tables.add_port(1, speed_bps=400e9, peer=None)
    secret = tmp_path / "leaf.secret"
    secret.write_text(f"{PASSWORD}\n")
    secret.chmod(0o600)
    with redis(tmp_path, tables, password=PASSWORD) as one:
        with pytest.raises(LabError, match="NOAUTH"):
            look(DeviceAccess(name="x", address=one.access.address))
        device = {"name": "leaf0", "kind": "sonic", "address": one.access.address}
        wanted = {**device, "part": "leaf:0", "credentials": {"file": "leaf.secret"}}
        fleet = inventory(tmp_path, [wanted], rest="0.1s")
        status, report, log = watched(scenario, fleet, capsys)
        assert (status, report["failing"]) == (0, [])
        secret.write_text("wrong-horse\n")
        time.sleep(0.2)
        status, wrong, more = watched(scenario, fleet, capsys)
    assert (status, wrong["failing"]) == (1, ["sonic leaf0"])
    assert "WRONGPASS" in more
    assert "horse" not in log + more + json.dumps(report) + json.dumps(wrong)
    assert b"horse" not in (tmp_path / "watch.db").read_bytes()


def test_what_is_no_sonic_is_said(tmp_path: Path) -> None:
    with redis(tmp_path, SonicSwitch("x")) as one, pytest.raises(LabError, match="SONiC switch"):
        look(one.access)


def asic(*numbers: int) -> SonicSwitch:
    """Return the tables of one ASIC of a switch."""
    tables = SonicSwitch("leaf0")
    for number in numbers:
        tables.add_port(number, speed_bps=400e9, peer=("spine0", number))
    return tables


def test_a_switch_of_several_asics_is_one_switch(tmp_path: Path) -> None:
    with redis(tmp_path, asic(1, 2)) as one, redis(tmp_path, asic(3)) as other:
        both = f"{one.access.address}, {other.access.address}"
        report = look(replace(one.access, address=both))
        alone = look(one.access)
    up = {value.port for value in report.values if value.metric == "link_up"}
    assert up == {"Ethernet0", "Ethernet8", "Ethernet16"}
    assert len(report.values) == len(alone.values) * 3 // 2
    assert {seen.device_port for seen in report.neighbours or ()} == {"etp1", "etp2", "etp3"}
    assert report.aliases["Ethernet16"] == "etp3"


def test_a_redis_with_tls_proves_who_it_is(tmp_path: Path) -> None:
    need("redis-server", "openssl")
    certified(tmp_path)
    port, plain = free_port(), free_port()
    settings = f"bind 127.0.0.1\nport {plain}\ntls-port {port}\nsave ''\ndir {tmp_path}\n"
    settings += f"tls-cert-file {tmp_path}/cert.pem\ntls-key-file {tmp_path}/key.pem\n"
    settings += f"tls-ca-cert-file {tmp_path}/cert.pem\ntls-auth-clients no\n"
    with daemon(
        ["redis-server", "-"], tmp_path, lambda: answers(port), text=settings.encode()
    ) as p:
        clear = DeviceAccess(name="leaf0", address=f"127.0.0.1:{plain}")
        RunningSwitch(tables=asic(1), access=clear, process=p).load()
        safe = replace(
            clear, address=f"rediss://127.0.0.1:{port}", certificate=tmp_path / "cert.pem"
        )
        assert look(safe).values == look(clear).values
        with pytest.raises(LabError, match="CERTIFICATE_VERIFY_FAILED"):
            look(replace(safe, certificate=None))
        with pytest.raises(LabError):
            look(replace(safe, address=f"rediss://127.0.0.1:{plain}", deadline_s=2.0))
