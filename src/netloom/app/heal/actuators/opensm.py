"""Ports of an InfiniBand switch by ibportstate."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.infiniband import PortStateWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="opensm",
    summary="ports of an InfiniBand switch by ibportstate; address: ssh://root@HOST",
    verbs=frozenset({"drain", "shut"}),
    writer=lambda access: PortStateWriter(access=access),
    labels="plain",
)
