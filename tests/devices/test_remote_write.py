"""Metrics beyond one machine: real VictoriaMetrics and Prometheus take them and are asked back."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from devices_under_test import daemon, free_port, need
from labs_under_test import write_scenario

from netloom.cli.main import main
from netloom.drivers.clock import WallClock
from netloom.drivers.devices.credentials import read_secret
from netloom.drivers.remote_write import RemoteWriter
from netloom.ops.observe.devices import DeviceAccess
from netloom.spec.inventory.file import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPORTED = """node_network_receive_bytes_total{device="eth0"} 1234567890123
node_network_up{device="eth0"} 1
node_network_receive_errs_total{device="odd \\"name\\\\"} 5
"""


class Handler(BaseHTTPRequestHandler):
    """Serves an exporter's text, and takes requests as it is told to."""

    server: Engine

    def do_GET(self) -> None:
        self.answer(200, EXPORTED.encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.headers.get("Authorization", ""), body))
        self.answer(self.server.status)

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Engine(ThreadingHTTPServer):
    """An engine that answers with a status; it keeps what it was sent."""

    status = 204

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken: list[tuple[str, bytes]] = []


@contextmanager
def engine() -> Iterator[Engine]:
    server = Engine()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def silent(*_: object, **__: object) -> None:
    """Log nothing."""


def is_served(port: int) -> bool:
    """Return whether an engine answers queries."""
    try:
        return asked(port, "up") is not None
    except OSError:
        return False


def asked(port: int, query: str) -> list[dict[str, Any]]:
    url = f"http://127.0.0.1:{port}/api/v1/query?{urlencode({'query': query})}"
    with urllib.request.urlopen(url, timeout=5) as answer:
        found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found


@contextmanager
def victoria_metrics(folder: Path) -> Iterator[int]:
    need("victoria-metrics")
    port = free_port()
    argv = ["victoria-metrics", f"-storageDataPath={folder / 'vm'}", "-search.latencyOffset=0s"]
    argv += [f"-httpListenAddr=127.0.0.1:{port}", "-search.disableCache=true"]
    with daemon(argv, folder, lambda: is_served(port)):
        yield port


@contextmanager
def prometheus(folder: Path) -> Iterator[int]:
    need("prometheus")
    port = free_port()
    (folder / "prometheus.yml").write_text("global: {}\n", encoding="utf-8")
    argv = ["prometheus", "--config.file=prometheus.yml", "--web.enable-remote-write-receiver"]
    argv += [f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    with daemon(argv, folder, lambda: is_served(port)):
        yield port


@pytest.mark.parametrize("started", [victoria_metrics, prometheus])
def test_what_a_watch_sees_is_asked_back_from_the_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], started: Any
) -> None:
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=1)
    with engine() as exporter, started(tmp_path) as port:
        argv = ["watch", str(scenario), "--scrape", f"http://127.0.0.1:{exporter.server_port}/"]
        argv += ["--store", str(tmp_path / "watch.db"), "--once", "--json"]
        assert main([*argv, "--remote-write", f"http://127.0.0.1:{port}/api/v1/write"]) == 0
        said = capsys.readouterr().err
        found: list[dict[str, Any]] = []
        deadline_s = time.monotonic() + 20
        while not found and time.monotonic() < deadline_s:
            found = asked(port, 'netloom_source_up{job="netloom"}')
            time.sleep(0.1)
        assert {one["value"][1] for one in found} == {"1"}
        assert any(one["metric"]["source"].startswith("scrape 127.0.0.1") for one in found)
        assert asked(port, "netloom_store_bytes")[0]["value"][1] != "0"
    (end,) = [json.loads(line) for line in said.splitlines() if "remote-write-end" in line]
    assert (end["sent"] > 3, end["dropped"], end["refused"]) == (True, 0, 0)


@pytest.mark.parametrize("started", [victoria_metrics, prometheus])
def test_many_series_with_odd_labels_come_through_and_end(tmp_path: Path, started: Any) -> None:
    names = [f'leaf:{n}[{n % 64}] "odd\\" \u00e9 ' + "x" * (n % 90) for n in range(25_000)]
    quoted = [name.replace("\\", "\\\\").replace('"', '\\"') for name in names]
    with started(tmp_path) as port:
        access = DeviceAccess(name="r", address=f"http://127.0.0.1:{port}/api/v1/write")
        writer = RemoteWriter(access=access, labels={"job": "netloom"}, log=silent)
        now_s = WallClock().now_s()
        rows = [("nl_test", f'{{part="{text}"}}', 0.5 + n) for n, text in enumerate(quoted)]
        writer.put(now_s - 1, rows)
        wait_until(lambda: writer.counts["sent"] == 25_000)
        writer.put(now_s, rows[:10])  # the others have ended
        writer.close()
        wait_until(lambda: asked(port, "count(nl_test)")[0]["value"][1] == "10")
        then = f"count(nl_test @ {now_s - 0.9:.3f})"
        wait_until(lambda: asked(port, then)[0]["value"][1] == "25000")  # indexed a little later
        found = {one["metric"]["part"]: one["value"][1] for one in asked(port, "nl_test")}
        assert found == {name: f"{0.5 + n:g}" for n, name in enumerate(names[:10])}
    # Nothing but what ended was told again.
    assert writer.counts == {"sent": 25_000 + 24_990, "dropped": 0, "refused": 0}


def wait_until(is_so: Any) -> None:
    deadline_s = time.monotonic() + 30
    while True:
        try:
            if is_so():
                return
        except IndexError:
            pass
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_an_engine_that_is_away_gets_it_later_and_what_does_not_fit_is_counted() -> None:
    events: list[str] = []
    with engine() as server:
        access = DeviceAccess(name="r", address=f"http://127.0.0.1:{server.server_port}/")
        server.status = 503
        writer = RemoteWriter(
            access=access, labels={}, log=lambda event, **_: events.append(event), max_bytes=9_000
        )
        for look in range(5):
            writer.put(float(look), [("nl", f'{{n="{n}"}}', float(look)) for n in range(200)])
            wait_until(lambda: not writer._looks)
        begun_s = time.monotonic()
        writer.put(6.0, [("nl", "", 1.0)])
        assert time.monotonic() - begun_s < 0.5
        wait_until(lambda: writer.counts["dropped"] > 0)
        server.status = 204
        wait_until(lambda: not writer._outbox and not writer._looks)
        writer.close()
    counts = writer.counts
    assert counts["refused"] == 0
    assert counts["sent"] > 0
    assert sum(counts.values()) == 5 * 200 + 1 + 200  # and the end of those that are gone
    assert events == ["remote-write-failed", "remote-write-back", "remote-write-end"]


def test_what_an_engine_refuses_is_not_sent_again() -> None:
    with engine() as server:
        server.status = 400
        access = DeviceAccess(name="r", address=f"http://127.0.0.1:{server.server_port}/")
        writer = RemoteWriter(access=access, labels={}, log=silent)
        writer.put(1.0, [("nl", "", 1.0)])
        wait_until(lambda: writer.counts["refused"] == 1)
        writer.close()
        assert len(server.taken) == 1


def test_an_engine_that_hangs_holds_up_no_one_at_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        address = f"http://127.0.0.1:{hanging.getsockname()[1]}/"
        access = DeviceAccess(name="r", address=address, deadline_s=1.0)
        writer = RemoteWriter(access=access, labels={}, log=silent)
        writer.put(1.0, [("nl", "", 1.0)])
        begun_s = time.monotonic()
        writer.close()
        assert time.monotonic() - begun_s < 15
    assert writer.counts == {"sent": 0, "dropped": 1, "refused": 0}


def test_a_token_is_read_from_a_file_that_others_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=1)
    secret = tmp_path / "token"
    secret.write_text("t0ken\n", encoding="utf-8")
    secret.chmod(0o600)
    assert read_secret(Credentials(file="token"), folder=tmp_path, environ={}) is not None
    with engine() as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        argv = ["watch", str(scenario), "--scrape", url, "--store", str(tmp_path / "watch.db")]
        argv += ["--once", "--remote-write-secret", str(secret), "--remote-write"]
        assert main([*argv, f"{url}write"]) == 0
        assert {login for login, _ in server.taken} == {"Bearer t0ken"}
        assert main([*argv, "http://tsdb.example/api/v1/write"]) == 2
        assert main([*argv, "file:///etc/passwd"]) == 2
        secret.chmod(0o644)
        assert main([*argv, f"{url}write"]) == 2
    assert "t0ken" not in "".join(capsys.readouterr())
