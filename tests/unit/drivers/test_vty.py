"""The line to FRR's daemons: answers in pieces, refusals, and a daemon that dies."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from netloom.drivers import frr, vty
from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROUTE = (
    b'{"10.0.0.0/31":[{"prefix":"10.0.0.0/31","protocol":"bgp","selected":true,'
    b'"nexthops":[{"fib":true,"interfaceName":"swp1"}]}]}'
)


def daemon(folder: Path, name: str, answers: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Answer each command with the next of *answers*, piece by piece; return what was asked."""
    (folder / "space").mkdir()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(folder / "space" / f"{name}.vty"))
    server.listen()
    asked: list[bytes] = []

    def serve() -> None:
        line, _ = server.accept()
        with server, line:
            for pieces in answers:
                asked.append(line.recv(1000))
                for piece in pieces:
                    line.sendall(piece)

    threading.Thread(target=serve, daemon=True).start()
    return asked


@pytest.fixture(autouse=True)
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(frr, "SOCKETS", tmp_path)
    return tmp_path


def test_an_answer_in_pieces_is_put_together(sockets: Path) -> None:
    asked = daemon(sockets, "zebra", [[ROUTE[:20], ROUTE[20:] + b"\0", b"\0\0", b"\0"]])
    (route,) = vty.routes("space")
    assert (route.prefix, route.interfaces) == ("10.0.0.0/31", ("swp1",))
    assert asked == [b"show ip route json\0"]


def test_a_line_that_is_refused_is_named(sockets: Path) -> None:
    good, bad = [b"\0\0\0\0"], [b"% Unknown command\n\0\0\0\x02"]
    asked = daemon(sockets, "bgpd", [good, good, bad])
    with pytest.raises(LabError, match="bgpd of space refused 'nonsense': % Unknown command"):
        vty.configure("space", "bgpd", ["nonsense"])
    assert asked == [b"enable\0", b"configure terminal\0", b"nonsense\0"]


def test_a_daemon_that_ends_in_the_middle_is_an_error(sockets: Path) -> None:
    daemon(sockets, "zebra", [[b"{"]])
    with pytest.raises(LabError, match="zebra of space does not answer"):
        vty.routes("space")


def test_a_daemon_that_is_not_there_is_an_error() -> None:
    with pytest.raises(LabError, match="does not answer"):
        vty.routes("space")


def test_a_daemon_that_hangs_is_waited_for_as_long_as_a_question_takes(
    sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vty, "ANSWER_S", 0.05)
    (sockets / "space").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stopped:
        stopped.bind(str(sockets / "space" / "bgpd.vty"))
        stopped.listen()  # connects, and is never served, as after SIGSTOP
        with pytest.raises(LabError, match=r"bgpd of space does not answer \(timed out\)"):
            vty.bgp_neighbours("space")
    assert vty.TIMEOUT_S >= 60
