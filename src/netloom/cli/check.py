"""``netloom check``."""

from __future__ import annotations

from netloom.spec.load import load

__all__ = ["check"]


def check(file: str, /) -> None:
    """Read a scenario and say what is wrong with it.

    Only the file itself is checked: keys, types, units and ranges.

    Args:
        file: A scenario, YAML or JSON.
    """
    load(file)
    print(f"{file}: ok")
