"""FRR on a switch or a host: vtysh over SSH. One line is set at once; FRR confirms nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netloom.drivers.writers.commands import SetAtOnce, ShellRequest, ask, send, shown
from netloom.formats.frr.changes import is_in_use, lines_of

if TYPE_CHECKING:
    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["FrrWriter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrrWriter(SetAtOnce):
    """One router."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"session", "switch"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        del name
        return shown(self.access, (_request(change),))

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        del name
        running = ask(self.access, ["vtysh", "-c", "show running-config"])
        return "in-use" if is_in_use(change, running) else "out-of-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        del name
        send(self.access, (_request(change),))


def _request(change: SettingChange) -> ShellRequest:
    words = [w for line in ("configure terminal", *lines_of(change)) for w in ("-c", line)]
    return ShellRequest(argv=("vtysh", *words))
