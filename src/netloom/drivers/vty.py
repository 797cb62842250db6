"""Speak to FRR's daemons as vtysh does, without starting it.

vtysh takes 70 ms of processor time before its first word: it reads the commands of all daemons.
What it then says goes over a Unix socket of each daemon: a command and a zero byte; the answer
ends with three zero bytes and the status (vtysh.c and vty.c of FRR 8.4).
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Final

from netloom.drivers import frr
from netloom.errors import LabError
from netloom.formats.frr import bfd, neighbours, state

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["answer_s", "bfd_sessions", "bgp_neighbours", "configure", "routes"]

TIMEOUT_S: Final = 120.0  # to configure a daemon that is busy
ANSWER_S: Final = 10.0  # to a question, which takes milliseconds: one that hangs blinds no watch
MAX_BYTES: Final = 64 * 2**20
_END: Final = b"\0\0\0"


def routes(pathspace: str) -> tuple[state.Route, ...]:
    """Return the IPv4 routes that zebra selected, as :func:`netloom.drivers.frr.routes` does.

    Raises:
        LabError: zebra does not answer.
    """
    return state.parse_routes(_ask(pathspace, "zebra", ["show ip route json"]))


def bgp_neighbours(pathspace: str) -> tuple[neighbours.Neighbour, ...]:
    """Return the BGP neighbours of a switch.

    Raises:
        LabError: bgpd does not answer.
    """
    return neighbours.parse_neighbours(_ask(pathspace, "bgpd", ["show bgp neighbors json"]))


def bfd_sessions(pathspace: str) -> tuple[bfd.Session, ...]:
    """Return the BFD sessions of a switch, as :func:`netloom.drivers.bfd.sessions` does.

    Raises:
        LabError: bfdd does not answer.
    """
    return bfd.parse_sessions(_ask(pathspace, "bfdd", ["enable", "show bfd peers json"]))


def answer_s(pathspace: str, daemon: str) -> float | None:
    """Return how long a daemon of a switch takes to say a word; None where it says none."""
    begun_s = time.monotonic()
    try:
        _ask(pathspace, daemon, ["show version"])
    except LabError:
        return None
    return time.monotonic() - begun_s


def configure(pathspace: str, daemon: str, lines: Sequence[str]) -> None:
    """Have one daemon of a switch take on lines of configuration.

    Raises:
        LabError: it does not answer, or refuses one of them.
    """
    _ask(pathspace, daemon, ["enable", "configure terminal", *lines, "end"], TIMEOUT_S)


def _ask(
    pathspace: str, daemon: str, commands: Sequence[str], timeout_s: float | None = None
) -> str:
    """Give commands one after the other, and return what the last of them printed."""
    said = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(timeout_s or ANSWER_S)
            line.connect(str(frr.SOCKETS / pathspace / f"{daemon}.vty"))
            for command in commands:
                line.sendall(command.encode("ascii") + b"\0")
                said, status = _answer(line)
                if status:
                    words = said.decode("utf-8", errors="replace").strip()[:200]
                    message = f"{daemon} of {pathspace} refused {command!r}: {words}"
                    raise LabError(message)
    except OSError as error:
        raise LabError(
            what=f"{daemon} of {pathspace} does not answer ({error})",
            remedy="is it stopped, or dead? bring the lab up again",
        ) from error
    return said.decode("utf-8", errors="replace")


def _answer(line: socket.socket) -> tuple[bytes, int]:
    """Return what a command printed, and its status."""
    said = bytearray()
    while said[-4:-1] != _END or len(said) < len(_END) + 1:
        more = line.recv(1 << 16)
        if not more or len(said) > MAX_BYTES:
            message = "it closed the line, or says too much"
            raise OSError(message)
        said += more
    return bytes(said[:-4]), said[-1]
