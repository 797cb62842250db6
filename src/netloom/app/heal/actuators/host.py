"""Ports of a Linux host over SSH."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.host import HostWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="host",
    summary="ports of a Linux host over SSH; address: ssh://root@HOST",
    verbs=frozenset({"shut"}),
    writer=lambda access: HostWriter(access=access),
    labels="plain",
)
