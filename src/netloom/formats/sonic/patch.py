"""SONiC: a change as a JSON patch (RFC 6902) of CONFIG_DB, and where its setting stands.

Tables and fields are those of SONiC's YANG models: PORT.admin_status, and tsa_enabled of
BGP_DEVICE_GLOBAL, by which a switch shifts traffic away from itself.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from netloom.ops.heal.devices import SettingChange

__all__ = [
    "SonicState",
    "is_in_use",
    "parse_state",
    "patch_of",
    "setting_of",
    "state_script",
]

_PORT: Final = re.compile(r"Ethernet\d{1,5}", re.ASCII)


def setting_of(change: SettingChange) -> tuple[str, str, str]:
    """Return the table, the key and the field that a change sets.

    Raises:
        LabError: SONiC has no such setting, or no port is called so.
    """
    if change.kind == "switch":
        return "BGP_DEVICE_GLOBAL", "STATE", "tsa_enabled"
    if change.kind == "port" and _PORT.fullmatch(change.label):
        return "PORT", change.label, "admin_status"
    raise LabError(
        what=f"SONiC has no {change.kind} {printable(change.label)!r} to set",
        remedy="name its port in the inventory, such as ports: {Ethernet8: 2}",
    )


def patch_of(change: SettingChange) -> str:
    """Return the patch, one operation: an apply has it whole or not at all."""
    table, key, field = setting_of(change)
    if change.kind == "switch":
        value = "false" if change.in_use else "true"
    else:
        value = "up" if change.in_use else "down"
    path = f"/{table}/{key}/{field}"
    return json.dumps([{"op": "add", "path": path, "value": value}], separators=(",", ":"))


class SonicState(NamedTuple):
    """What a switch has: whether the setting is in use, and whether a timer will roll it back."""

    in_use: bool
    is_armed: bool


def state_script(change: SettingChange, name: str) -> str:
    """Return what a shell of the switch runs to tell a setting, and the timer of a change.

    Raises:
        LabError: SONiC has no such setting, or no port is called so.
    """
    table, key, field = setting_of(change)
    row = f"'{table}|{key}'"
    timer = f"$(systemctl is-active {name}.timer)" if name else ""
    return (
        f'echo "there=$(sonic-db-cli CONFIG_DB EXISTS {row})"; '
        f'echo "value=$(sonic-db-cli CONFIG_DB HGET {row} {field})"; '
        f'echo "timer={timer}"'
    )


def parse_state(change: SettingChange, said: str) -> SonicState:
    """Return what that printed.

    Raises:
        LabError: the port is not there, or the setting has none of its values.
    """
    told = {key: value for key, _, value in (line.partition("=") for line in said.splitlines())}
    if change.kind == "port" and told.get("there", "").strip() not in ("1", "True"):
        raise LabError(
            what=f"the switch has no port {printable(change.label)}",
            remedy="name its ports in the inventory",
        )
    if "value" not in told:
        raise LabError(
            what="the switch does not tell its settings", remedy="run sonic-db-cli there"
        )
    is_armed = told.get("timer", "").strip() == "active"
    return SonicState(in_use=is_in_use(change, told["value"]), is_armed=is_armed)


def is_in_use(change: SettingChange, said: str) -> bool:
    """Return what a setting reads as, from what ``sonic-db-cli`` printed of its field.

    Raises:
        LabError: it is none of the values that the field has.
    """
    words = {"switch": {"true": False, "false": True, "": True, "none": True}}.get(
        change.kind, {"up": True, "down": False, "": False, "none": False}
    )
    text = said.strip().lower()
    if text not in words:
        raise LabError(
            what=f"{change.kind} {change.label}: CONFIG_DB has {printable(said)!r}",
            remedy="look at it on the switch",
        )
    return words[text]
