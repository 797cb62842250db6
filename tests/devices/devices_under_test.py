"""Daemons that stand for devices, each on a free port or socket, ended with the test."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from netloom.cli.main import main
from netloom.drivers.programs import find_program, missing_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def need(*programs: str) -> None:
    """Skip the test where a program is not installed, naming its package."""
    absent = missing_packages(programs)
    if absent:
        pytest.skip(f"needs the packages {', '.join(absent)}")


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


@contextmanager
def daemon(
    argv: Sequence[str], folder: Path, is_ready: Callable[[], bool], *, text: bytes = b""
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in the foreground until the test is over."""
    path = folder / f"{argv[0]}-{len(list(folder.glob('*.log')))}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  (a test's own daemon)
            [find_program(argv[0]), *argv[1:]],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    try:
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.close()
        deadline_s = time.monotonic() + 30
        while not is_ready():
            assert process.poll() is None, path.read_text("utf-8")
            assert time.monotonic() < deadline_s, f"{argv[0]} is not ready after 30 s"
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Return whether something listens on a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def certified(folder: Path) -> Path:
    """Write a key and a certificate of this machine into a folder."""
    need("openssl")
    argv = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=leaf0"]
    argv += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem")]
    subprocess.run(  # noqa: S603  (a test's own key)
        [find_program("openssl"), *argv, "-out", str(folder / "cert.pem")],
        check=True,
        capture_output=True,
    )
    return folder


def inventory(folder: Path, devices: list[dict[str, Any]], **defaults: Any) -> Path:
    path = folder / "fleet.json"
    path.write_text(json.dumps({"defaults": defaults, "devices": devices}), encoding="utf-8")
    return path


def watched(
    scenario: Path, fleet: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, Any], str]:
    """Look once by the command line; return its status, its JSON, and its log."""
    store = fleet.parent / "watch.db"
    argv = ["watch", str(scenario), "--inventory", str(fleet), "--store", str(store)]
    capsys.readouterr()
    status = main([*argv, "--once", "--json", *options])
    said = capsys.readouterr()
    return status, json.loads(said.out)["result"], said.err
