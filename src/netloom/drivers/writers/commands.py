"""What all writers by shell share: a request as it is shown, and as it is sent."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.drivers.devices.shell import HostShell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.ops.heal.devices import SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["SetAtOnce", "ShellRequest", "ask", "send", "shown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellRequest:
    """A program to run on a device.

    Attributes:
        argv: Its name and arguments.
        text: Its standard input.
    """

    argv: tuple[str, ...]
    text: str = ""


class SetAtOnce:
    """What a device has that knows no trial: a change is kept, and undoing sets what was before."""

    __slots__ = ()

    def confirm(self, change: SettingChange, name: str) -> None:
        """Do nothing: the change is kept."""

    def abandon(self, change: SettingChange, name: str) -> None:
        """Do nothing: undoing sets what was there before."""


def shown(access: DeviceAccess, requests: Iterable[ShellRequest]) -> tuple[str, ...]:
    """Return requests as a person would type them here, each behind the name of the device."""
    shell = HostShell(access)
    return tuple(
        f"{access.name}: {shlex.join(shell.words(one.argv))}"
        + (f" <<< {shlex.quote(one.text)}" if one.text else "")
        for one in requests
    )


def send(access: DeviceAccess, requests: Iterable[ShellRequest]) -> str:
    """Run the programs one after the other, and return what the last printed.

    Raises:
        LabError: one is not there, failed, or did not end in time; later ones were not run.
    """
    said = ""
    for one in requests:
        said = HostShell(access).run(one.argv, text=one.text)
    return said


def ask(access: DeviceAccess, argv: Sequence[str]) -> str:
    """Return what one program prints.

    Raises:
        LabError: it is not there, failed, or did not end in time.
    """
    return HostShell(access).run(argv)
