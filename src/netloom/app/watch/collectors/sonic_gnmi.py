"""SONiC switches, by the gNMI server's view of their databases."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.gnmi import look_at_sonic

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "sonic-gnmi",
    "a SONiC switch's databases by gNMI; address: HOST:PORT (SONiC listens on 8080 or 50051)",
    look_at_sonic,
    labels="sonic",
)
