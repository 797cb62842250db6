"""Jobs by NCCL's RAS, and whole fabrics by UFM: servers on real sockets.

What RAS says was recorded from NCCL 2.28.9: three ranks on one H200 (told apart by NCCL_HOSTID),
healthy, then with rank 2 not in the sixth all-reduce, then with rank 2 killed. What UFM says is not
recorded from a device: keys are those of NVIDIA's REST API guide, numbers are ours.
"""

from __future__ import annotations

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from devices_under_test import inventory, watched
from labs_under_test import write_scenario

from netloom.drivers.devices import ufm
from netloom.drivers.devices.nccl_ras import RasPort
from netloom.errors import LabError
from netloom.ops.observe.devices import DeviceAccess, PortValue, SeenNeighbour
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = Path(__file__).parents[1] / "data" / "watch" / "nccl_ras"


class Ras(socketserver.StreamRequestHandler):
    """RAS as NCCL speaks: a line for each command, a status and the end of the connection."""

    server: RasServer

    def handle(self) -> None:
        while line := self.rfile.readline():
            word = line.decode().strip()
            if word.startswith("CLIENT PROTOCOL"):
                self.wfile.write(b"SERVER PROTOCOL 2\n")
            elif word == "VERBOSE STATUS":
                self.wfile.write((RECORDED / self.server.says).read_bytes())
                return
            elif word.startswith("SET FORMAT") and not self.server.has_json:
                self.wfile.write(b"ERROR: Unknown command\n")
            else:
                self.wfile.write(b"OK\n")


class RasServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    says = "healthy.json"
    has_json = True


@contextmanager
def ras() -> Iterator[RasServer]:
    with RasServer(("127.0.0.1", 0), Ras) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def port_of(server: RasServer) -> RasPort:
    host, port = server.server_address[:2]
    return RasPort(DeviceAccess(name="llama", address=f"{host!s}:{port}", deadline_s=10))


def troubles(port: RasPort) -> set[str]:
    return {one.metric for one in port.look().values if one.value}


@pytest.mark.parametrize("form", ["json", "txt"])
def test_a_rank_that_others_wait_for_is_stuck_from_the_second_look(form: str) -> None:
    with ras() as server:
        server.has_json = form == "json"
        port = port_of(server)
        if form == "json":
            assert troubles(port) == set()
        server.says = f"hang.{form}"
        assert troubles(port) == set()  # in a job that runs, ranks are apart for a moment
        report = port.look()
        (said,) = report.events
        assert said.text.startswith("rank 2 of communicator c326bc1099638a6e has launched 5 AllR")
        assert {(one.port, one.metric) for one in report.values if one.value} == {
            ("127.0.0.1/gpu:0", "rank_stuck")
        }


@pytest.mark.parametrize("form", ["json", "txt"])
def test_a_rank_that_is_gone_is_missing_and_what_others_reported_is_told(form: str) -> None:
    with ras() as server:
        server.has_json, server.says = form == "json", f"dead.{form}"
        report = port_of(server).look()
    assert {one.metric for one in report.values if one.value} == {"rank_missing", "rank_failed"}
    assert sorted(one.kind for one in report.events) == ["failed-rank", "missing-rank"]
    assert any("rank 2" in one.text for one in report.events if one.kind == "missing-rank")


def test_a_job_is_watched_and_its_ranks_are_parts_of_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=1)
    with ras() as server:
        server.says = "dead.json"
        line = {
            "name": "llama",
            "kind": "nccl-ras",
            "address": f"127.0.0.1:{server.server_address[1]}",
            "part": "job:llama",
            "ports": {"127.0.0.1/gpu:0": "nic:0"},
        }
        status, report, log = watched(scenario, inventory(tmp_path, [line]), capsys)
        assert (status, report["failing"]) == (0, [])
        assert "missing-rank" in log
    with ObservationStore(tmp_path / "watch.db") as store:
        kept = {(part, metric): value for _, part, metric, value in store.latest()}
        events = store.events(0, 1e12)
    assert kept["nic:0[1]", "rank_missing"] == 1
    assert {(one.part, one.kind) for one in events} == {
        ("nic:0[1]", "missing-rank"),
        ("nic:0[1]", "failed-rank"),
    }


def test_what_is_no_ras_is_told() -> None:
    class Other(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"SSH-2.0-OpenSSH_9.2\n")

    with RasServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(LabError, match="no RAS"):
            port_of(server).look()
        server.shutdown()


def ufm_port(system: str, number: int, peer: str, **more: Any) -> dict[str, Any]:
    """Return a port as UFM's guide prints one, with what matters here."""
    is_host = system.startswith("node")
    return {
        "description": "Computer IB Port" if is_host else "Switch IB Port",
        "name": f"{system}guid_{number}",
        "number": number,
        "system_name": system,
        "node_description": f"{system} mlx5_0" if is_host else f"{system}:{number}",
        "physical_state": "Link Up",
        "logical_state": "Active",
        "active_speed": "NDR",
        "active_width": "4x",
        "peer": peer,
        **more,
    }


UFM: dict[str, Any] = {
    "/ufmRest/resources/ports": [
        ufm_port("leaf01", 1, "node01guid_1"),
        ufm_port("node01", 1, "leaf01guid_1"),
        ufm_port(
            "leaf01", 2, "N/A", physical_state="Polling", logical_state="Down", active_speed=None
        ),
    ],
    "/ufmRest/app/alarms": [
        {
            "id": 3,
            "name": "Link HW Error",
            "reason": "Link-Downed counter delta threshold exceeded.",
            "severity": "Warning",
            "timestamp": "2024-05-27 08:18:51",
            "object_name": "leaf01guid_1",
            "object_path": "Switch: leaf01 / 1",
        },
        {"id": 2, "severity": "Critical", "name": "FAULT", "object_path": "Switch: leaf02"},
    ],
    "/ufmRest/telemetry": {
        "data": {
            "2026-01-01 00:00:30": {
                "Ports": {"leaf01guid_1": {"statistics": {"SymbolErrorCounterExtended": 7}}}
            },
            "2026-01-01 00:00:00": {
                "Ports": {"leaf01guid_1": {"statistics": {"SymbolErrorCounterExtended": 5}}}
            },
        }
    },
}


class Ufm(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = UFM.get(urlsplit(self.path).path)
        if body is None:
            self.send_error(404)
            return
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served() -> Iterator[DeviceAccess]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ufm)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield DeviceAccess(name="ufm", address=f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def test_what_ufm_says_of_a_fabric_becomes_observations() -> None:
    with served() as access:
        report = ufm.look(access)
    assert [*dict.fromkeys(report.values)][-1] == PortValue("1", "symbol_errors", 7, "", "leaf01")
    assert {
        (one.device, one.port): one.value for one in report.values if one.metric == "link_up"
    } == {
        ("leaf01", "1"): 1,
        ("node01 mlx5_0", "1"): 1,
        ("leaf01", "2"): 0,
    }
    rates = {one.device: one.value for one in report.values if one.metric == "rate_bps"}
    assert rates == {"leaf01": 400e9, "node01 mlx5_0": 400e9}  # what is down has none
    assert report.neighbours == [
        SeenNeighbour("1", "node01 mlx5_0", "1", "leaf01"),
        SeenNeighbour("1", "leaf01", "1", "node01 mlx5_0"),
    ]
    assert [(one.device, one.port, one.text) for one in report.events] == [
        ("leaf01", "1", "Warning: Link HW Error: Link-Downed counter delta threshold exceeded."),
        ("leaf02", "", "Critical: FAULT"),
    ]


def test_a_ufm_without_telemetry_says_less_and_does_not_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(UFM, "/ufmRest/telemetry")
    with served() as access:
        report = ufm.look(access)
        assert not report.missing
        monkeypatch.delitem(UFM, "/ufmRest/resources/ports")
        with pytest.raises(LabError, match="404"):
            ufm.look(access)


def test_a_fabric_is_watched_by_ufm_and_a_swapped_cable_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = write_scenario(tmp_path, "infiniband-ndr", nodes=2)
    names = tmp_path / "names.csv"
    names.write_text("name,device\nleaf01,leaf:0\nleaf02,leaf:1\n", encoding="utf-8")
    ports = [ufm_port("leaf01", 1, "leaf02guid_1"), ufm_port("leaf02", 1, "leaf01guid_1")]
    monkeypatch.setitem(UFM, "/ufmRest/resources/ports", ports)
    with served() as access:
        fleet = inventory(
            tmp_path, [{"name": "ufm", "kind": "ufm", "address": access.address}], credentials={}
        )
        status, _report, log = watched(scenario, fleet, capsys, "--names", str(names))
        assert status == 0, log
        *_, again = watched(scenario, fleet, capsys, "--names", str(names))
    assert "leaf:0[1] sees leaf:1[1] instead of nic:0[1]" in log
    assert "Link HW Error" in log + again
