"""NVIDIA's switches by NVUE's REST API: a revision is made, applied on trial, and kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from netloom.drivers.devices.streams import Deadline
from netloom.drivers.devices.web import fetch_json
from netloom.errors import LabError
from netloom.formats.nvue import revision

if TYPE_CHECKING:
    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["NvueWriter"]

CONFIRM_S: Final = 120  # assumed: reading back takes seconds
APPLY_S: Final = 60.0  # assumed: an apply takes some ten seconds
STEP_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NvueWriter:
    """One switch."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"port"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`; the switch names the revision itself."""
        del name
        one = f"{revision.REVISIONS}/REVISION"
        rows = (
            ("POST", revision.REVISIONS, b"{}"),
            ("PATCH", revision.path_of(change, "REVISION"), revision.setting_body(change)),
            ("PATCH", one, revision.applying(CONFIRM_S)),
            ("GET", one, b""),
            ("PATCH", one, revision.deciding(keeps=True)),
        )
        url = self.access.address.rstrip("/")
        return tuple(
            f"{self.access.name}: {verb} {url}{path} {body.decode()}".rstrip()
            for verb, path, body in rows
        )

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        in_use = revision.is_in_use(self._ask(revision.path_of(change, revision.APPLIED)))
        if name and in_use == change.in_use and revision.waiting(self._ask(revision.REVISIONS)):
            return "unconfirmed"
        return "in-use" if in_use else "out-of-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`."""
        del name
        answer = self._send("POST", revision.REVISIONS, b"{}")
        made = quote(revision.revision_in(answer), safe="")
        self._send("PATCH", revision.path_of(change, made), revision.setting_body(change))
        path = f"{revision.REVISIONS}/{made}"
        self._send("PATCH", path, revision.applying(CONFIRM_S))
        deadline = Deadline(APPLY_S)
        while True:
            state = revision.state_of(self._ask(path))
            if state in (revision.APPLIED, revision.CONFIRM):
                return
            if revision.has_failed(state):
                raise LabError(
                    what=f"{self.access.name}: the revision is {state!r}",
                    remedy="look at it with nv config history",
                )
            deadline.left_s()  # raises once it is over
            time.sleep(STEP_S)

    def confirm(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.confirm`; where no apply waits, there is nothing to keep."""
        del change, name
        self._decide(keeps=True)

    def abandon(self, change: SettingChange, name: str) -> None:
        """Take back what waits to be confirmed; revisions that were not applied do nothing.

        One apply waits at a time. It is another's where the switch has not this change.
        """
        if self.state(change, name) == "unconfirmed":
            self._decide(keeps=False)

    def _decide(self, *, keeps: bool) -> None:
        for made in revision.waiting(self._ask(revision.REVISIONS)):
            path = f"{revision.REVISIONS}/{quote(made, safe='')}"
            self._send("PATCH", path, revision.deciding(keeps=keeps))

    def _ask(self, path: str) -> Any:
        return fetch_json(self.access, path)

    def _send(self, verb: str, path: str, body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        return fetch_json(self.access, path, body=body, method=verb, headers=headers)
