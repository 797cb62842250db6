"""InfiniBand fabrics by NVIDIA's UFM."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.ufm import look

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "ufm",
    "all ports of an InfiniBand fabric by UFM's REST API; address: https://HOST",
    look,
    labels="plain",
)
