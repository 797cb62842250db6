"""SONiC switches, by their Redis databases."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.sonic import look

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "sonic",
    "a SONiC switch by its Redis databases; address: HOST:PORT (6379), or the socket's path on it",
    look,
    labels="sonic",
)
