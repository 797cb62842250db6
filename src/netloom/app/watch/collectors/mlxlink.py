"""A host's NVIDIA adapters by mlxlink."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.adapters import look_by_mlxlink

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "mlxlink", "a host's NVIDIA adapters by mlxlink; address: local or ssh://HOST", look_by_mlxlink
)
