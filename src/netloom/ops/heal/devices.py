"""Changes of real devices: one setting each, read back, and undone by the setting before.

A writer is to one device what an actuator is to a network: it plans (the exact requests), applies,
verifies (reads back) and undoes. Where a device confirms commits, what is applied returns by itself
unless it is confirmed in time.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ChangeKind",
    "ChangedSetting",
    "DeviceState",
    "DeviceWriter",
    "SettingChange",
    "parse_settings",
    "render_settings",
]

_NAME: Final = re.compile(r"[A-Za-z0-9][\w-]{0,79}", re.ASCII)  # devices get it as a word

ChangeKind = Literal["port", "session", "switch", "node"]
DeviceState = Literal["in-use", "out-of-use", "unconfirmed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting of one device.

    Attributes:
        kind: A ``port`` (up, or shut), the BGP ``session`` over a port (open, or shut), the whole
            ``switch`` (or traffic shifted away from it), a ``node`` (jobs start there, or not).
        label: What the device calls the port or the node; empty for the switch itself.
        in_use: Whether it is to be in use.
    """

    kind: ChangeKind
    label: str = ""
    in_use: bool = False

    @property
    def words(self) -> str:
        """It in words: ``port Ethernet8 out of use``."""
        what = f"{self.kind} {self.label}" if self.label else self.kind
        return f"{what} {'in use' if self.in_use else 'out of use'}"

    @property
    def wanted(self) -> DeviceState:
        """The state that it leads to."""
        return "in-use" if self.in_use else "out-of-use"

    def with_use(self, *, in_use: bool) -> SettingChange:
        """Return the change of the same setting to the other or the same state."""
        return SettingChange(kind=self.kind, label=self.label, in_use=in_use)


class DeviceWriter(Protocol):
    """One device that may be changed; every method may raise a LabError.

    A change is one setting: the device has it or has it not, and nothing lies between.
    """

    @property
    def changes(self) -> frozenset[ChangeKind]:
        """What it can change."""

    def plan(self, change: SettingChange, name: str) -> Sequence[str]:
        """Return the exact requests, in order; nothing is sent."""
        ...

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """Return what it has now; ``unconfirmed`` where the change of that name will go back."""
        ...

    def apply(self, change: SettingChange, name: str) -> None:
        """Make the change under a name; one that is not confirmed goes back where it can."""
        ...

    def confirm(self, change: SettingChange, name: str) -> None:
        """Keep the change."""
        ...

    def abandon(self, change: SettingChange, name: str) -> None:
        """Give up a change that was begun under a name and is not confirmed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSetting:
    """A setting of a device as it was before an act: what undoing it needs.

    Attributes:
        device: Its name in the inventory.
        kind: Of the device.
        change: What the act makes of it.
        was_in_use: What it was before.
    """

    device: str
    kind: str
    change: SettingChange
    was_in_use: bool

    @property
    def is_needed(self) -> bool:
        """Whether the act changes anything."""
        return self.was_in_use != self.change.in_use


def render_settings(name: str, settings: Sequence[ChangedSetting]) -> str:
    """Return the token of an act: its name, and every setting before it."""
    rows = [
        {
            "device": one.device,
            "kind": one.kind,
            "what": one.change.kind,
            "label": one.change.label,
            "in_use": one.change.in_use,
            "was": one.was_in_use,
        }
        for one in settings
    ]
    return json.dumps({"name": name, "settings": rows}, sort_keys=True)


def parse_settings(token: str) -> tuple[str, tuple[ChangedSetting, ...]]:
    """Return what :func:`render_settings` wrote.

    Raises:
        LabError: the log is damaged there.
    """
    try:
        told = json.loads(token)
        name = _NAME.fullmatch(told["name"])
        settings = tuple(_setting(row) for row in told["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LabError(
            what="the log does not say what the devices had before",
            remedy="put them back by hand, and look again",
        ) from error
    if name is None:
        raise LabError(what="the log has a change without a name", remedy="look at the log")
    return name[0], settings


def _setting(row: dict[str, Any]) -> ChangedSetting:
    kinds: dict[str, ChangeKind] = {k: k for k in ("port", "session", "switch", "node")}
    change = SettingChange(
        kind=kinds[row["what"]], label=str(row["label"]), in_use=bool(row["in_use"])
    )
    return ChangedSetting(
        device=str(row["device"]),
        kind=str(row["kind"]),
        change=change,
        was_in_use=bool(row["was"]),
    )
