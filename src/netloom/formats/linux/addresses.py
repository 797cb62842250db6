"""IPv4 addresses as ``ip`` prints them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Any, Final

from netloom.errors import LabError

__all__ = ["HeldAddress", "parse_addresses"]

MAX_ROWS: Final = 100_000
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAddress:
    """An address on an interface."""

    interface: str
    address: IPv4Interface


def parse_addresses(text: str) -> tuple[HeldAddress, ...]:
    """Return what ``ip -j -4 addr show`` printed, loopback addresses left out.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        rows: list[dict[str, Any]] = json.loads(text or "[]")[:MAX_ROWS]
        found = [
            HeldAddress(
                interface=str(row["ifname"])[:32],
                address=IPv4Interface(f"{one['local']}/{int(one['prefixlen'])}"),
            )
            for row in rows
            for one in row.get("addr_info", [])
            if one.get("family") == "inet"
        ]
    except _ODD as error:
        message = f"ip -j addr show: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error
    return tuple(one for one in found if not one.address.is_loopback)
