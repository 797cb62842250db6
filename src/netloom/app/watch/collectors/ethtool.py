"""A host's interfaces by ethtool."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.adapters import look_by_ethtool

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "ethtool", "a host's interfaces by ethtool; address: local or ssh://HOST", look_by_ethtool
)
