"""What ibtracert, smpquery pkeys and saquery print of paths and partitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from netloom.errors import LabError

__all__ = [
    "Hop",
    "parse_path_key",
    "parse_pkeys",
    "parse_trace",
]

MAX_LINES: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """A step of a path: out of a port of one node, into a port of the next.

    Attributes:
        out_port: Of the node before.
        name: The next node's description.
        in_port: Of it.
    """

    out_port: int
    name: str
    in_port: int


_HOP: Final = re.compile(
    r"\[(?P<out>\d{1,3})\] -> (?:switch|ca|rt) port \{0x[0-9a-f]{1,16}\}\[(?P<into>\d{1,3})\] "
    r'lid \d{1,6}-\d{1,6} "(?P<name>[^"]{0,80})"',
    re.ASCII,
)
_PKEY: Final = re.compile(r"0x([0-9a-fA-F]{4})\b", re.ASCII)
_PKEY_ROW: Final = re.compile(r"\s*\d{1,5}:((?:\s+0x[0-9a-fA-F]{4})+)\s*", re.ASCII)
_PATH_KEY: Final = re.compile(r"pkey\.{1,48}0x([0-9a-fA-F]{1,4})\b", re.ASCII)


def parse_trace(text: str) -> tuple[Hop, ...]:
    """Return the hops that ``ibtracert`` printed; none unless it arrived."""
    lines = text.splitlines()[:MAX_LINES]
    if not any(line.startswith("To ") for line in lines):
        return ()
    return tuple(
        Hop(out_port=int(match["out"]), name=match["name"], in_port=int(match["into"]))
        for line in lines
        if (match := _HOP.match(line))
    )


def parse_pkeys(text: str) -> tuple[int, ...]:
    """Return the keys that ``smpquery pkeys`` printed, without the empty places.

    Raises:
        LabError: it is not what that program prints.
    """
    rows = [_PKEY_ROW.fullmatch(line) for line in text.splitlines()[:MAX_LINES]]
    found = [match[1] for match in rows if match]
    if not found:
        message = f"smpquery pkeys: what it printed is not understood ({text.strip()[:80]!r})"
        raise LabError(message)
    keys = {int(key, 16) for row in found for key in _PKEY.findall(row)}
    return tuple(sorted(keys - {0}))


def parse_path_key(text: str) -> int | None:
    """Return the key of the first record that ``saquery PR`` printed."""
    match = _PATH_KEY.search(text)
    return int(match[1], 16) if match else None
