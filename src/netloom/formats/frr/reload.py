"""What frr-reload.py would change, as it prints it."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "parse_difference",
]

# vtysh prints the machine's name instead of the one configured, and bfdd leaves out what equals
# its defaults: both always differ and mean nothing.
_NOISE: Final = re.compile(
    r"(no )?hostname .*"
    r"|bfd / profile \S+ / (transmit-interval 300|receive-interval 300|detect-multiplier 3)",
    re.ASCII,
)
_DELETE: Final = "Lines To Delete"
_ADD: Final = "Lines To Add"
_RULE: Final = re.compile(r"=+|\d{4}-\d\d-\d\d .*", re.ASCII)  # under headings; its log


def parse_difference(text: str) -> tuple[str, ...]:
    """Return what ``frr-reload.py --test`` printed, without what always differs."""
    sign, found, stack = "", [], list[str]()
    for line in text.splitlines():
        stripped = line.strip()
        if stripped in {_DELETE, _ADD}:
            sign, stack = ("-" if stripped == _DELETE else "+"), []
        elif sign and stripped and not _RULE.fullmatch(stripped):
            depth = len(line) - len(line.lstrip(" "))
            if depth == 0:
                found += _joined(sign, stack)
                stack = []
            stack.append(stripped)
        elif sign and not stripped:
            found += _joined(sign, stack)
            stack = []
    found += _joined(sign, stack)
    return tuple(found)


def _joined(sign: str, stack: list[str]) -> list[str]:
    said = " / ".join(stack)
    return [f"{sign} {said}"] if said and not _NOISE.fullmatch(said) else []
