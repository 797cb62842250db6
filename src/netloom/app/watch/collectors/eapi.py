"""Arista switches, by eAPI."""

from __future__ import annotations

from typing import Final

from netloom.app.watch.devices.kind import device_kind
from netloom.drivers.devices.eapi import look

__all__ = ["ENTRY"]

ENTRY: Final = device_kind(
    "eapi", "an Arista switch by eAPI; address: its URL, https://HOST", look, labels="eos"
)
