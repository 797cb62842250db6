"""The partition keys that a port holds, from ``smpquery pkeys``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parse_keys", "partition_keys"]

_ROW: Final = re.compile(r"^\s*\d{1,5}:((?: 0x[0-9a-f]{4}){1,8})\s*$", re.ASCII | re.MULTILINE)


def partition_keys(ask: Callable[..., str], guid: int) -> tuple[int, ...]:
    """Return the keys of the port with this GUID, membership bit included, in their order.

    Args:
        ask: Runs a program of infiniband-diags and returns what it printed.
        guid: Of the port.

    Raises:
        LabError: the port does not answer.
    """
    return parse_keys(ask("smpquery", "-G", "pkeys", f"0x{guid:016x}", "1"))


def parse_keys(text: str) -> tuple[int, ...]:
    """Return what ``smpquery pkeys`` printed, without the empty places.

    Raises:
        LabError: it is not what that command prints.
    """
    rows = _ROW.findall(text)
    if not rows:
        message = f"smpquery pkeys: what it printed is not understood ({text[:80]!r})"
        raise LabError(message)
    keys = (int(key, 16) for row in rows for key in row.split())
    return tuple(key for key in keys if key)
