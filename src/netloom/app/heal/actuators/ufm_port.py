"""Ports of an InfiniBand switch by UFM."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.infiniband import UfmWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="ufm-port",
    summary="ports of an InfiniBand switch by UFM; address: https://HOST",
    verbs=frozenset({"drain", "shut"}),
    writer=lambda access: UfmWriter(access=access),
    labels="plain",
)
