"""Hosts and switches that run lldpd."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.lldp import look

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "lldp", "neighbours by lldpd; address: local, ssh://HOST, or the path of lldpd's socket", look
)
