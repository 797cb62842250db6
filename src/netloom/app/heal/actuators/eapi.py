"""An Arista switch by configuration sessions."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.eos import EosWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="eapi",
    summary="an Arista switch by configuration sessions; address: https://HOST",
    verbs=frozenset({"drain", "shut"}),
    writer=lambda access: EosWriter(access=access),
    labels="eos",
)
