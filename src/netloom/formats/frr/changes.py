"""FRR: changes of BGP as lines for vtysh, and what its running configuration says of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from netloom.ops.heal.devices import SettingChange

__all__ = ["is_in_use", "lines_of"]

_NEIGHBOUR: Final = re.compile(r"(?!.*\.\.)(?:[A-Za-z][\w.-]{0,14}|[0-9a-fA-F.:]{2,45})", re.ASCII)
_ROUTER: Final = re.compile(r"^router bgp \d{1,10}$", re.ASCII)


def lines_of(change: SettingChange) -> tuple[str, ...]:
    """Return the lines of configuration: the last is the setting, which is one for FRR too.

    Raises:
        LabError: FRR has no such setting, or no neighbour is called so.
    """
    return ("router bgp", f"{'no ' if change.in_use else ''}{_setting(change)}")


def is_in_use(change: SettingChange, running: str) -> bool:
    """Return what a setting reads as, from ``show running-config``.

    Raises:
        LabError: BGP does not run there, or has no such neighbour.
    """
    lines = tuple(_of_bgp(running))
    if not lines:
        raise LabError(what="BGP is not configured there", remedy="look at vtysh there")
    if change.kind == "session":
        start = f"neighbor {change.label} "
        if not any(line.startswith(start) for line in lines):
            raise LabError(
                what=f"BGP has no neighbour {printable(change.label)}",
                remedy="name its ports in the inventory",
            )
    return _setting(change) not in lines


def _setting(change: SettingChange) -> str:
    if change.kind == "switch":
        return "bgp graceful-shutdown"
    if change.kind == "session" and _NEIGHBOUR.fullmatch(change.label):
        return f"neighbor {change.label} shutdown"
    raise LabError(
        what=f"FRR has no {change.kind} {printable(change.label)!r} to set",
        remedy="name its port in the inventory, such as ports: {swp2: 2}",
    )


def _of_bgp(running: str) -> list[str]:
    """Return the lines of the default instance of BGP, without those of address families."""
    found: list[str] = []
    inside = False
    for line in running.splitlines():
        if _ROUTER.fullmatch(line.rstrip()):
            inside = True
            found.append(line.strip())
        elif inside and line.startswith(" "):
            if not line.startswith("  "):
                found.append(line.strip())
        elif inside and line.strip():
            inside = False
    return found
