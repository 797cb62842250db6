"""A Linux host over SSH: its ports by iproute2."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from netloom.drivers.writers.commands import SetAtOnce, ShellRequest, ask, send, shown
from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["HostWriter", "is_up"]

_PORT: Final = re.compile(r"[A-Za-z][\w.-]{0,14}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWriter(SetAtOnce):
    """One host."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"port"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        del name
        return shown(self.access, (_request(change),))

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        del name
        said = ask(self.access, ["ip", "-json", "link", "show", "dev", _checked(change)])
        return "in-use" if is_up(said) else "out-of-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        del name
        send(self.access, (_request(change),))


def is_up(said: str) -> bool:
    """Return whether a port is set to be up, from ``ip -json link show``.

    Raises:
        LabError: it does not tell.
    """
    try:
        (row,) = json.loads(said)
        flags = row["flags"]
        assert isinstance(flags, list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise LabError(
            what="ip does not tell the port's flags", remedy="update iproute2"
        ) from error
    return "UP" in flags


def _checked(change: SettingChange) -> str:
    if change.kind != "port" or not _PORT.fullmatch(change.label):
        raise LabError(
            what=f"a host has no {change.kind} {printable(change.label)!r} to set",
            remedy="name its port in the inventory, such as ports: {eth2: 'nic:0'}",
        )
    return change.label


def _request(change: SettingChange) -> ShellRequest:
    state = "up" if change.in_use else "down"
    return ShellRequest(argv=("ip", "link", "set", "dev", _checked(change), state))
