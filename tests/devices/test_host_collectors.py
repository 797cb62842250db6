"""Real node_exporter, snmpd and lldpd, each watched."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from devices_under_test import answers, daemon, free_port, inventory, need, watched
from labs_under_test import write_scenario

from netloom.drivers.devices import exporters, lldp, snmp
from netloom.drivers.programs import find_program, run
from netloom.errors import LabError
from netloom.formats.snmp import walk
from netloom.ops.observe.devices import DeviceAccess, Secret
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab

COMMUNITY, PASSPHRASE = "letmein", "passphrase9"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write_scenario(tmp_path, "rocev2-400g", nodes=1)


def fake_adapter(root: Path, *, state: str = "4: ACTIVE") -> None:
    """Write what /sys has of an mlx5 adapter; node_exporter reads these files."""
    port = root / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
    (port / "counters").mkdir(parents=True, exist_ok=True)
    (root / "class" / "net").mkdir(exist_ok=True)
    files = {"state": state, "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}
    counters = {"port_xmit_data": "1000", "port_rcv_errors": "7", "link_downed": "2"}
    for name, text in files.items():
        (port / name).write_text(f"{text}\n")
    for name, text in counters.items():
        (port / "counters" / name).write_text(f"{text}\n")
    for name in ("board_id", "fw_ver", "hca_type"):
        (port.parents[1] / name).write_text("x\n")


@contextmanager
def node_exporter(folder: Path, *options: str) -> Iterator[str]:
    need("prometheus-node-exporter")
    port = free_port()
    argv = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}"]
    argv += ["--collector.disable-defaults", *options]
    with daemon(argv, folder, lambda: answers(port)):
        yield f"http://127.0.0.1:{port}/metrics"


def test_a_real_node_exporter_tells_of_adapters_and_interfaces(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_adapter(tmp_path / "sys")
    options = [f"--path.sysfs={tmp_path / 'sys'}", "--collector.infiniband"]
    with node_exporter(tmp_path, *options) as url:
        device = {"name": "node1", "kind": "prometheus", "address": url}
        fleet = inventory(tmp_path, [{**device, "ports": {"mlx5_0": "nic:3"}}])
        status, report, _log = watched(scenario, fleet, capsys)
        assert (status, report["failing"]) == (0, [])
    with ObservationStore(tmp_path / "watch.db") as store:
        kept = {(part, metric): value for _, part, metric, value in store.latest()}
    assert kept["nic:3[1]", "link_up"] == 1
    assert kept["nic:3[1]", "rate_bps"] == 400e9
    assert kept["nic:3[1]", "sent_bytes"] == 4000
    assert kept["nic:3[1]", "receive_errors"] == 7
    assert kept["nic:3[1]", "link_downs"] == 2


def test_the_ethtool_and_netclass_collectors_are_understood(tmp_path: Path) -> None:
    names = ("ethtool", "netclass", "netdev")
    with node_exporter(tmp_path, *(f"--collector.{name}" for name in names)) as url:
        report = exporters.look(DeviceAccess(name="node1", address=url))
    found = {(one.port, one.metric): one.value for one in report.values}
    assert ("lo", "mtu_bytes") in found
    assert ("lo", "link_downs") in found
    assert any(metric == "received_packets" for _, metric in found)  # it leaves lo out
    assert not report.missing


@contextmanager
def snmpd(folder: Path, *more: str) -> Iterator[DeviceAccess]:
    need("snmpd", "snmpbulkwalk")
    port = free_port(socket.SOCK_DGRAM)
    settings = folder / "snmpd.conf"
    settings.write_text(
        f"agentAddress udp:127.0.0.1:{port}\nrocommunity {COMMUNITY}\n"
        f'createUser reader SHA "{PASSPHRASE}" AES "{PASSPHRASE}"\nrouser reader priv\n'
        f"master agentx\nagentXSocket {folder}/agentx\n" + "".join(f"{line}\n" for line in more)
    )
    access = DeviceAccess(
        name="leaf0", address=f"127.0.0.1:{port}", secret=Secret(COMMUNITY), deadline_s=20.0
    )

    def is_ready() -> bool:
        try:
            return bool(snmp.look(replace(access, deadline_s=1.0)).values)
        except LabError:
            return False

    argv = ["snmpd", "-f", "-Lo", "-C", "-c", str(settings), "-I", "-smux", "-p", f"{folder}/pid"]
    os.environ["SNMP_PERSISTENT_DIR"] = str(folder / "persistent")
    try:
        with daemon(argv, folder, is_ready):
            yield access
    finally:
        del os.environ["SNMP_PERSISTENT_DIR"]


def sensors() -> Iterator[str]:
    """Give lines that let snmpd tell of an optic in lo, and of a fan that is in no port.

    Not recorded from a device: objects are those of RFC 3433 and 6933, numbers are ours.
    """
    entity, sensor = walk.PHYSICAL, walk.SENSOR
    yield f"override {walk.ALIAS}.2.100.0 object_id {walk.IF}.1.1"  # port 100 is interface 1
    rows = [  # index, inside of, what, type, scale, precision, value
        (101, 100, "Rx Power Lane 1 Sensor", walk.DBM, 9, 2, -125),
        (102, 100, "Lane 2 transmit power", walk.WATTS, 7, 0, 500),  # 500 uW are -3.01 dBm
        (103, 100, "Lane 1 Tx Bias", walk.AMPERES, 8, 2, 675),
        (104, 100, "Module Temperature", walk.CELSIUS, 9, 1, 405),
        (105, 7, "Fan temperature", walk.CELSIUS, 9, 0, 30),
    ]
    for index, holder, about, kind, scale, precision, value in rows:
        yield f'override {entity}.2.{index} octet_str "{about}"'
        yield f"override {entity}.4.{index} integer {holder}"
        cells = (kind, scale, precision, value, 1)
        for column, cell in enumerate(cells, start=1):
            yield f"override {sensor}.{column}.{index} integer {cell}"


def test_optics_are_told_by_a_real_snmpd(tmp_path: Path) -> None:
    with snmpd(tmp_path, *sensors()) as access:
        report = snmp.look(access)
    found = {(one.metric, one.inside): one.value for one in report.values if "optic" in one.metric}
    assert found == {
        ("optic_receive_power_dbm", "lane:1"): -1.25,
        ("optic_transmit_power_dbm", "lane:2"): pytest.approx(-3.0103),
        ("optic_bias_a", "lane:1"): pytest.approx(6.75e-3),
        ("optic_temperature_c", ""): 40.5,
    }
    assert {one.port for one in report.values if "optic" in one.metric} == {"lo"}


def test_a_real_snmpd_tells_of_interfaces_by_both_versions(tmp_path: Path) -> None:
    with snmpd(tmp_path) as access:
        report = snmp.look(access)
        found = {(one.port, one.metric): one.value for one in report.values}
        assert (found["lo", "link_up"], found["lo", "admin_up"]) == (1, 1)
        assert found["lo", "mtu_bytes"] == 65536
        assert any(metric == "received_packets" for _, metric in found)  # it leaves lo out
        assert report.versions["os"].startswith("Linux ")  # sysDescr: what uname says
        private = replace(access, user="reader", secret=Secret(PASSPHRASE))
        again = {(one.port, one.metric) for one in snmp.look(private).values}
        assert again == set(found)
        wrong = replace(access, secret=Secret("wrong-horse"), deadline_s=1.0)
        with pytest.raises(LabError) as caught:
            snmp.look(wrong)
        assert "wrong-horse" not in str(caught.value)
        assert "wrong-horse" not in repr(caught.value.__cause__)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that lldpcli can reach when it has dropped root's rights."""
    with tempfile.TemporaryDirectory(prefix="netloom-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def cable(open_folder: Path) -> Iterator[Path]:
    """Two lldpd in namespaces of their own at the ends of a cable: leaf0 eth1 and spine1 eth1."""
    need("lldpd", "lldpcli", "ip")
    if os.geteuid():
        pytest.skip("needs root for namespaces")
    names = [f"nl-{os.getpid()}-{side}" for side in ("a", "b")]
    with ExitStack() as stack:
        for name in names:
            run(["ip", "netns", "add", name])
            stack.callback(run, ["ip", "netns", "del", name])
        first, second = names
        ends = ["type", "veth", "peer", "name", "eth1", "netns", second]
        run(["ip", "-n", first, "link", "add", "eth1", *ends])
        for name, host in zip(names, ("leaf0", "spine1"), strict=True):
            run(["ip", "-n", name, "link", "set", "eth1", "up"])
            sock = open_folder / f"{host}.sock"
            argv = ["ip", "netns", "exec", name, find_program("lldpd"), "-d", "-u", str(sock)]
            settings = open_folder / f"{host}.conf"
            settings.write_text(f"configure system hostname {host}\nconfigure lldp tx-interval 1\n")
            argv += ["-O", str(settings)]
            more = ["-x", "-X", f"{open_folder}/agentx"] if host == "leaf0" else []
            stack.enter_context(daemon([*argv, *more], open_folder, sock.exists))
        yield open_folder


def seen_within(access: DeviceAccess, look: Any, seconds: float = 30.0) -> Any:
    """Look until there is a neighbour with a name of ours: lldpd tells of itself after a while."""
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        report = look(access)
        if any(one.device == "spine1" for one in report.neighbours):
            return report
        time.sleep(1.0)
    pytest.fail(f"no neighbour within {seconds} s: {look(access).neighbours}")


def test_a_real_lldpd_tells_neighbours_and_a_wrong_one_is_a_finding(
    cable: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sock = str(cable / "leaf0.sock")
    report = seen_within(DeviceAccess(name="leaf0", address=sock), lldp.look)
    assert [one[:3] for one in report.neighbours] == [("eth1", "spine1", "eth1")]
    # The lowest uplink of leaf:0 should lead to spine:0; we say that this is it.
    device = {"name": "leaf0", "kind": "lldp", "address": sock, "part": "leaf:0"}
    spine = {"name": "spine1", "kind": "lldp", "address": str(cable / "spine1.sock")}
    for part, wanted in (("spine:0", []), ("spine:1", ["miswired"])):
        both = [{**device, "ports": {"eth1": 3}}, {**spine, "part": part, "ports": {"eth1": 1}}]
        fleet = inventory(cable, both, rest="0.1s")
        report = {}
        for _ in range(3):
            status, report, _log = watched(scenario, fleet, capsys)
            assert (status, report["failing"]) == (0, [])
        assert sorted({one["kind"] for one in report["findings"]}) == wanted


def test_neighbours_by_snmp_are_those_of_lldpd(
    open_folder: Path, request: pytest.FixtureRequest
) -> None:
    with snmpd(open_folder) as access:
        request.getfixturevalue("cable")  # its lldpd reports to the snmpd that already runs
        seen_within(DeviceAccess(name="x", address=f"{open_folder}/leaf0.sock"), lldp.look)
        report = seen_within(access, snmp.look)
    assert [one[:3] for one in report.neighbours] == [("eth1", "spine1", "eth1")]


def test_programs_of_another_host_are_run_by_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is given to ssh is one word for the shell there, whatever the address says."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word" >> "$HOME/words"; done\n')
    ssh.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(LabError):
        lldp.look(DeviceAccess(name="n", address="ssh://monitor@node01:2222"))
    words = (tmp_path / "words").read_text().splitlines()
    assert words[-3:] == ["node01", "--", "lldpcli -f json0 show neighbors"]
    assert words[:2] == ["-o", "BatchMode=yes"]
    for bad in ("ssh://-oProxyCommand=x", "ssh://a b", "ssh://a;b", "node01"):
        with pytest.raises(LabError, match="neither"):
            lldp.look(DeviceAccess(name="n", address=bad))
