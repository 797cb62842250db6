"""A list of switches with the MAC addresses of their management ports, by line.

As labels or a list of what was bought have them: ``leaf000,00:11:22:33:44:55``.
"""

from __future__ import annotations

import re
from typing import Final

from netloom.errors import SpecError

__all__ = ["parse_macs"]

MAX_LINES: Final = 100_000
_MAC: Final = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.ASCII)


def parse_macs(text: str, where: str) -> dict[str, str]:
    """Return the MAC address of each switch, by its name.

    Dashes, dots and capitals are taken too; a first line ``name,mac`` and comments are passed over.

    Raises:
        SpecError: a line is not a name and an address, or one of them is there twice.
    """
    found: dict[str, str] = {}
    for line, row in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in row.split(",")]
        if not any(cells) or cells[0].startswith("#") or (line == 1 and "mac" in cells):
            continue
        mac = _plain(cells[1]) if len(cells) >= 2 else ""
        if line > MAX_LINES or not _MAC.fullmatch(mac) or not cells[0]:
            raise SpecError(
                file=where,
                line=line,
                what=f"{','.join(cells)[:80]!r} is not a switch and its MAC address",
                remedy="write leaf000,00:11:22:33:44:55",
            )
        if cells[0] in found or mac in found.values():
            raise SpecError(
                file=where,
                line=line,
                what=f"{cells[0]} or its address stands there twice",
                remedy="give each once",
            )
        found[cells[0]] = mac
    return found


def _plain(text: str) -> str:
    digits = re.sub(r"[.:-]", "", text).lower()
    return ":".join(digits[n : n + 2] for n in range(0, len(digits), 2))
