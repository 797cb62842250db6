"""Ports of InfiniBand switches: ``ibportstate`` beside OpenSM, or UFM's REST API.

The device's name in the inventory is the switch's GUID; its ports go by their numbers.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from netloom.drivers.devices.web import fetch, fetch_json
from netloom.drivers.writers.commands import SetAtOnce, ShellRequest, ask, send, shown
from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["PortStateWriter", "UfmWriter", "is_enabled", "unhealthy"]

UFM_PATH: Final = "/ufmRest/app/unhealthy_ports"
STEP_S: Final = 0.2
MAX_ROWS: Final = 100_000
_GUID: Final = re.compile(r"(?:0x)?(?P<digits>[0-9a-f]{16})", re.ASCII)
_PHYSICAL: Final = re.compile(
    r"^PhysLinkState:\.{1,48}(?P<state>[A-Za-z]{1,32})", re.ASCII | re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortStateWriter(SetAtOnce):
    """One switch, through the host that its subnet's manager runs on."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"port"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        del name
        return shown(self.access, (self._request(change),))

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        del name
        # Its exit status tells of the far end too, which may be what is broken.
        query = f"{shlex.join([*self._argv(change), 'query'])} || true"
        found = self._patiently(lambda: is_enabled(ask(self.access, ["sh", "-c", query])))
        return "in-use" if found else "out-of-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        del name
        self._patiently(lambda: bool(send(self.access, (self._request(change),))))

    def _patiently(self, ask_once: Callable[[], bool]) -> bool:
        """Return an answer, asked for again while the subnet manager makes routes again.

        Raises:
            LabError: none came before the deadline.
        """
        until_s = time.monotonic() + self.access.deadline_s
        while True:
            try:
                return ask_once()
            except LabError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(STEP_S)

    def _argv(self, change: SettingChange) -> tuple[str, ...]:
        return ("ibportstate", "-G", f"0x{_guid(self.access)}", _port(change))

    def _request(self, change: SettingChange) -> ShellRequest:
        return ShellRequest(argv=(*self._argv(change), "enable" if change.in_use else "disable"))


@dataclass(frozen=True, slots=True, kw_only=True)
class UfmWriter(SetAtOnce):
    """One switch, through UFM: its ports are marked unhealthy and isolated, or healthy again."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"port"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        del name
        url = f"{self.access.address.rstrip('/')}{UFM_PATH}"
        return (f"{self.access.name}: PUT {url} {self._body(change).decode()}",)

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        del name
        marked = unhealthy(fetch_json(self.access, UFM_PATH))
        key = (_guid(self.access), int(_port(change)))
        return "out-of-use" if key in marked else "in-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        del name
        headers = {"Content-Type": "application/json"}
        fetch(self.access, UFM_PATH, body=self._body(change), method="PUT", headers=headers)

    def _body(self, change: SettingChange) -> bytes:
        told: dict[str, Any] = {"ports": [f"{_guid(self.access)}_{_port(change)}"]}
        told["ports_policy"] = "HEALTHY" if change.in_use else "UNHEALTHY"
        if not change.in_use:
            told["action"] = "isolate"
        return json.dumps(told).encode()


def is_enabled(said: str) -> bool:
    """Return whether a port is enabled, from what ``ibportstate ... query`` printed.

    Raises:
        LabError: it does not tell.
    """
    match = _PHYSICAL.search(said)
    if match is None:
        raise LabError(what="ibportstate does not tell the port's state", remedy="run it there")
    return match["state"].lower() != "disabled"


def unhealthy(answer: Any) -> frozenset[tuple[str, int]]:
    """Return GUID and number of the ports that UFM has marked unhealthy.

    Raises:
        LabError: this is no answer of UFM.
    """
    if not isinstance(answer, list):
        raise LabError(what="not an answer of UFM", remedy="check the address")
    found = set()
    for row in answer[:MAX_ROWS]:
        guid = row.get("UnhealthyGUID") if isinstance(row, dict) else None
        number = row.get("UnhealthyPortNumber") if isinstance(row, dict) else None
        if isinstance(guid, str) and isinstance(number, int):
            found.add((guid.lower().removeprefix("0x"), number))
    return frozenset(found)


def _guid(access: DeviceAccess) -> str:
    match = _GUID.fullmatch(access.name.lower())
    if match is None:
        raise LabError(
            what=f"{printable(access.name)!r} is no GUID",
            remedy="name the switch by its GUID, such as 0xb8cef60300a1b2c3, and give its part",
        )
    return match["digits"]


def _port(change: SettingChange) -> str:
    is_fine = change.label.isascii() and change.label.isdigit() and len(change.label) < 4
    if change.kind != "port" or not is_fine:
        raise LabError(
            what=f"no {change.kind} {printable(change.label)!r} to set on InfiniBand",
            remedy="ports go by their numbers",
        )
    return change.label
