"""Arista EOS by eAPI: configuration sessions with a commit timer, then confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from netloom.drivers.devices.web import fetch_json
from netloom.formats.eos import session
from netloom.formats.eos.eapi import answers_of, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["EosWriter"]

PATH: Final = "/command-api"
TIMER: Final = "00:02:00"  # assumed: reading back takes seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class EosWriter:
    """One switch."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"port", "switch"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        sent = (session.applying(change, name, TIMER), session.confirming(name))
        url = f"{self.access.address.rstrip('/')}{PATH}"
        return tuple(f"{self.access.name}: POST {url} {request(one).decode()}" for one in sent)

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        commands = [session.asking(change), session.SESSIONS]
        shown = self._run(commands)
        in_use = session.is_in_use(change, shown[commands[0]])
        if name and in_use == change.in_use and session.is_pending(shown[session.SESSIONS], name):
            return "unconfirmed"
        return "in-use" if in_use else "out-of-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        self._run(session.applying(change, name, TIMER))

    def confirm(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.confirm`."""
        del change
        self._run(session.confirming(name))

    def abandon(self, change: SettingChange, name: str) -> None:
        """Abort the session: what it committed on trial goes back."""
        del change
        shown = self._run([session.SESSIONS])[session.SESSIONS]
        if session.is_open(shown, name):
            self._run(session.aborting(name))

    def _run(self, commands: Sequence[str]) -> dict[str, dict[str, Any]]:
        headers = {"Content-Type": "application/json"}
        answer = fetch_json(self.access, PATH, body=request(commands), headers=headers)
        return answers_of(answer, commands)
