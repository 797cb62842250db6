"""Arista EOS: changes by configuration sessions, and what its show commands say of them.

Commands are those of EOS' manual; the states of a session as public tools read them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError
from netloom.ops.observe.devices import mapping_of, printable

if TYPE_CHECKING:
    from netloom.ops.heal.devices import SettingChange

__all__ = [
    "SESSIONS",
    "aborting",
    "applying",
    "asking",
    "confirming",
    "is_in_use",
    "is_open",
    "is_pending",
]

ON_TRIAL: Final = "pendingCommitTimer"
SESSIONS: Final = "show configuration sessions"
_PORT: Final = re.compile(r"(?:Ethernet|Port-Channel)\d{1,4}(?:/\d{1,3}){0,2}", re.ASCII)


def applying(change: SettingChange, name: str, timer: str) -> tuple[str, ...]:
    """Return the commands that commit a change under a name, to be confirmed within *timer*.

    Raises:
        LabError: EOS has no such setting, or no port is called so.
    """
    return ("enable", f"configure session {name}", *_lines(change), f"commit timer {timer}")


def confirming(name: str) -> tuple[str, ...]:
    """Return the commands that keep what a session committed."""
    return ("enable", f"configure session {name} commit")


def aborting(name: str) -> tuple[str, ...]:
    """Return the commands that give a session up, or take back what it committed."""
    return ("enable", f"configure session {name} abort")


def asking(change: SettingChange) -> str:
    """Return the command that shows a setting.

    Raises:
        LabError: EOS has no such setting, or no port is called so.
    """
    _lines(change)
    return "show maintenance" if change.kind == "switch" else f"show interfaces {change.label}"


def is_in_use(change: SettingChange, shown: dict[str, Any]) -> bool:
    """Return what a setting reads as.

    Raises:
        LabError: the switch does not tell.
    """
    if change.kind == "switch":
        state = mapping_of(shown, "units", "System").get("state")
    else:
        state = mapping_of(shown, "interfaces", change.label).get("interfaceStatus")
    if not isinstance(state, str):
        raise LabError(
            what=f"EOS does not tell the state of {change.kind} {printable(change.label)}",
            remedy="check the name of the port",
        )
    return "maintenance" not in state.lower() if change.kind == "switch" else state != "disabled"


def is_pending(shown: dict[str, Any], name: str) -> bool:
    """Return whether what a session committed waits to be confirmed."""
    return bool(mapping_of(shown, "sessions", name).get("state") == ON_TRIAL)


def is_open(shown: dict[str, Any], name: str) -> bool:
    """Return whether a session was begun and neither completed nor given up."""
    return mapping_of(shown, "sessions", name).get("state") in ("pending", ON_TRIAL)


def _lines(change: SettingChange) -> tuple[str, ...]:
    if change.kind == "switch":
        return ("maintenance", "unit System", "no quiesce" if change.in_use else "quiesce")
    if change.kind == "port" and _PORT.fullmatch(change.label):
        return (f"interface {change.label}", "no shutdown" if change.in_use else "shutdown")
    raise LabError(
        what=f"EOS has no {change.kind} {printable(change.label)!r} to set",
        remedy="name its port in the inventory, such as ports: {Ethernet2/1: 2}",
    )
