"""Devices with an SNMP agent."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.snmp import look

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "snmp", "a device by SNMP (IF-MIB, LLDP-MIB); address: HOST or HOST:PORT (161)", look
)
