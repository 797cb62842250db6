"""Programs on a host: on this machine, or on another by OpenSSH with keys, never a password."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.streams import Deadline
from netloom.drivers.programs import run
from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["HostShell"]

HERE: Final = "local"
_SSH: Final = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][\w.-]{0,31})@)?(?P<host>[A-Za-z0-9][\w.-]{0,252})"
    r"(?::(?P<port>\d{1,5}))?",
    re.ASCII,
)


class HostShell:
    """Runs the programs of one look, within its deadline."""

    def __init__(self, access: DeviceAccess) -> None:
        """Take ``local`` or ``ssh://USER@HOST:PORT``.

        Raises:
            LabError: the address is neither.
        """
        self._before: list[str] = []
        self._deadline = Deadline(access.deadline_s)
        if access.address == HERE:
            return
        match = _SSH.fullmatch(access.address)
        if match is None:
            raise LabError(
                what=f"{access.name}: its address is neither {HERE!r} nor ssh://HOST",
                remedy="write such as ssh://monitor@node01",
            )
        port = ["-p", match["port"]] if match["port"] else []
        user = ["-l", match["user"]] if match["user"] else []
        limit = f"ConnectTimeout={max(1, int(access.deadline_s))}"
        self._before = [
            "ssh",
            "-o",
            "BatchMode=yes",
            "-o",
            limit,
            *port,
            *user,
            match["host"],
            "--",
        ]

    def words(self, argv: Sequence[str]) -> list[str]:
        """Return the program and the arguments that are run on this machine for it."""
        return [*self._before, shlex.join(argv)] if self._before else list(argv)

    def run(self, argv: Sequence[str], *, text: str = "") -> str:
        """Return what a program prints; *text* is its standard input.

        Raises:
            LabError: it is not there, failed, or did not end in time.
        """
        return run(self.words(argv), text=text, timeout_s=self._deadline.left_s())
