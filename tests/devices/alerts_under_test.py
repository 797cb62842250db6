"""A fabric that a test breaks, people's systems that it tells, and watches in processes."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from devices_under_test import answers, daemon, free_port, need

from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.drivers.metrics_server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.plant import Plant

SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@dataclass
class BreakableFabric:
    """Ports as an exporter serves them; a cable that is down is so at both ends."""

    folder: Path
    plant: Plant
    server: Server
    down: set[int] = field(default_factory=set)

    def put(self, *down: int) -> None:
        self.down = set(down)
        lines = [
            f'node_network_up{{device="p{number}"}} {int(cable not in self.down)}'
            for number, (_, cable) in enumerate(self.ports())
        ]
        self.server.put(("\n".join(lines) + "\n").encode(), {"status": "ok"})

    def ports(self) -> list[tuple[str, int]]:
        return [(self.plant.port_name(p), c.number) for c in self.plant.cables for p in c.ends]

    def uplink(self, leaf: str = "leaf:0") -> int:
        return self.plant.find(leaf)[-1].number

    @property
    def options(self) -> list[str]:
        url = f"http://127.0.0.1:{self.server.port}/metrics"
        names = str(self.folder / "names.csv")
        return [str(self.folder / "eth.yaml"), "--scrape", url, "--names", names]


@contextmanager
def breakable_fabric(folder: Path) -> Iterator[BreakableFabric]:
    scenario = folder / "eth.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    server = Server("127.0.0.1", 0)
    try:
        one = BreakableFabric(folder=folder, plant=designed_at(scenario).plant, server=server)
        rows = [f"127.0.0.1/p{number},{port}" for number, (port, _) in enumerate(one.ports())]
        (folder / "names.csv").write_text("\n".join(["name,device", *rows]), encoding="utf-8")
        one.put()
        yield one
    finally:
        server.close()


@dataclass
class RunningWatch:
    process: subprocess.Popen[bytes]
    log: Path

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = self.log.read_text("utf-8").splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{")]
        return [one for one in told if one["event"] == name]


@contextmanager
def running_watch(
    fabric: BreakableFabric, store: Path, *options: str, every: str = "500ms"
) -> Iterator[RunningWatch]:
    """Run ``netloom watch`` until the test is over."""
    argv = [sys.executable, "-m", "netloom.cli.main", "watch", *fabric.options]
    argv += ["--store", str(store), "--every", every, "--json", *options]
    log = store.with_suffix(".log")
    with log.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603  (our own)
            argv, stdout=subprocess.DEVNULL, stderr=stderr
        )
    try:
        yield RunningWatch(process, log)
    finally:
        process.kill()
        process.wait()


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Receiver:
    """A webhook that keeps what it gets, and answers as a test says."""

    url: str
    got: list[Received] = field(default_factory=list)
    answer: Callable[[int], tuple[int, bytes]] = lambda _: (200, b"")

    def alerts(self, status: str) -> list[dict[str, Any]]:
        return [
            alert
            for one in self.got
            for alert in one.body.get("alerts", [])
            if alert["status"] == status
        ]


@contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            found.got.append(Received(self.path, dict(self.headers), json.loads(raw)))
            found.got[-1].headers["raw"] = raw.decode()
            status, body = found.answer(len(found.got))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def alertmanager(folder: Path, hook: str) -> Iterator[str]:
    """Run the real one with the routes that netloom ships, sped up, to a webhook."""
    need("prometheus-alertmanager", "amtool")
    assert main(["watch", "--files", str(folder / "files")]) == 0
    text = (folder / "files" / "netloom-alertmanager.yml").read_text("utf-8")
    text = text.replace("http://127.0.0.1:9095", hook).replace("group_wait: 10s", "group_wait: 1s")
    text = text.replace("group_interval: 1m", "group_interval: 1s")
    (folder / "alertmanager.yml").write_text(text, encoding="utf-8")
    port = free_port()
    argv = ["prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml"]
    argv += [f"--storage.path={folder}/am", f"--web.listen-address=127.0.0.1:{port}"]
    with daemon([*argv, "--cluster.listen-address="], folder, lambda: answers(port)):
        yield f"http://127.0.0.1:{port}"


def posted_alerts(url: str) -> list[dict[str, Any]]:
    """Return what an Alertmanager has, silenced ones too."""
    with urlopen(Request(f"{url}/api/v2/alerts"), timeout=5) as answer:  # noqa: S310
        found: list[dict[str, Any]] = json.loads(answer.read())
        return found


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL of the test's own on a socket in its folder, and give a URL."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("needs the package postgresql")
    home = Path("/tmp") / f"netloom-pg-{os.getpid()}-{time.monotonic_ns()}"  # noqa: S108  (short: sockets)
    home.mkdir(mode=0o700)
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(home, user.pw_uid, user.pw_gid)
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data, bin_ = home / "data", programs[-1]
    try:
        subprocess.run(  # noqa: S603
            [*as_user, str(bin_ / "initdb"), "-D", str(data), "-A", "trust", "-U", "netloom", "-N"],
            check=True,
            capture_output=True,
            cwd="/",
        )
        argv = [*as_user, str(bin_ / "postgres"), "-D", str(data), "-k", str(home)]
        argv += ["-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "postgres.log").open("wb") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log, cwd="/")  # noqa: S603
        try:
            ready = [str(bin_ / "pg_isready"), "-h", str(home), "-U", "netloom"]
            assert until(
                lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0  # noqa: S603
            )
            yield f"postgresql://netloom@/postgres?host={home}"
        finally:
            process.terminate()
            process.wait(30)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def until(probe: Callable[[], bool], limit_s: float = 60.0) -> bool:
    """Return whether *probe* becomes true in time."""
    end_s = time.monotonic() + limit_s
    while not probe():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.1)
    return True


def cases(store: str | Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Return the JSON of ``netloom cases``."""
    capsys.readouterr()
    status = main(["cases", *words, "--store", str(store), "--json"])
    said = capsys.readouterr()
    assert status == 0, said.out + said.err
    return json.loads(said.out)["result"]
