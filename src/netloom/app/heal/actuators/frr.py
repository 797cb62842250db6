"""FRR by vtysh over SSH."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.frr import FrrWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="frr",
    summary="FRR by vtysh over SSH; address: ssh://USER@HOST",
    verbs=frozenset({"drain"}),
    writer=lambda access: FrrWriter(access=access),
    labels="cumulus",
)
