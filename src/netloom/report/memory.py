"""What a GPU holds, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.units import SIZE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["held_line"]


def held_line(parts_bytes: Mapping[str, float], *, capacity_bytes: float) -> str:
    """Return the sum of the parts, what the GPU has, and the parts."""
    listed = ", ".join(f"{name} {format_quantity(n, SIZE)}" for name, n in parts_bytes.items())
    total = format_quantity(sum(parts_bytes.values()), SIZE)
    return f"memory {total} of {format_quantity(capacity_bytes, SIZE)}: {listed}"
