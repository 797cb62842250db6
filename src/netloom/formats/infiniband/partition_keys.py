"""The partition keys that a port holds, from ``smpquery pkeys``."""

from __future__ import annotations

import re
from typing import Final

from netloom.errors import LabError

__all__ = [
    "parse_keys",
]

_ROW: Final = re.compile(r"^\s*\d{1,5}:((?: 0x[0-9a-f]{4}){1,8})\s*$", re.ASCII | re.MULTILINE)


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
