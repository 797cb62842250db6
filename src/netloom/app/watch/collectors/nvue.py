"""Switches with Cumulus Linux or NVOS, by NVUE's REST API."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.nvue import look

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "nvue",
    "a switch by NVUE's REST API; address: its URL, https://HOST:8765",
    look,
    labels="cumulus",
)
