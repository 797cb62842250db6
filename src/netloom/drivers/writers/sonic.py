"""SONiC over SSH: ``config apply-patch``, with a checkpoint and a timer that rolls it back.

SONiC confirms no commits itself. A transient unit of the switch's systemd rolls back to the
checkpoint unless it is stopped in time; so a change that cuts netloom off goes away again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from netloom.drivers.writers.commands import ShellRequest, ask, send, shown
from netloom.formats.sonic.patch import parse_state, patch_of, state_script

if TYPE_CHECKING:
    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["SonicWriter"]

CONFIRM_S: Final = 120  # assumed: reading back takes seconds
SUDO: Final = ("sudo", "-n")


@dataclass(frozen=True, slots=True, kw_only=True)
class SonicWriter:
    """One switch."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"port", "switch"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        return shown(self.access, (*_applying(change, name), *_confirming(name)))

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        said = ask(self.access, ["sh", "-c", state_script(change, name)])
        state = parse_state(change, said)
        if state.is_armed and state.in_use == change.in_use:
            return "unconfirmed"
        return "in-use" if state.in_use else "out-of-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        send(self.access, _applying(change, name))

    def confirm(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.confirm`."""
        del change
        send(self.access, _confirming(name))

    def abandon(self, change: SettingChange, name: str) -> None:
        """Roll back to the checkpoint, where the timer has not."""
        said = ask(self.access, ["sh", "-c", state_script(change, name)])
        if parse_state(change, said).is_armed:
            rollback = ShellRequest(argv=(*SUDO, "config", "rollback", name))
            send(self.access, (rollback, *_confirming(name)))


def _applying(change: SettingChange, name: str) -> tuple[ShellRequest, ...]:
    unit = ("systemd-run", f"--unit={name}", f"--on-active={CONFIRM_S}s")
    return (
        ShellRequest(argv=(*SUDO, "config", "checkpoint", name)),
        ShellRequest(argv=(*SUDO, *unit, "config", "rollback", name)),
        ShellRequest(argv=(*SUDO, "config", "apply-patch", "/dev/stdin"), text=patch_of(change)),
    )


def _confirming(name: str) -> tuple[ShellRequest, ...]:
    return (
        ShellRequest(argv=(*SUDO, "systemctl", "stop", f"{name}.timer")),
        ShellRequest(argv=(*SUDO, "config", "delete-checkpoint", name)),
    )
