"""SONiC by config apply-patch over SSH."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.sonic import SonicWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="sonic-ssh",
    summary="SONiC by config apply-patch over SSH; address: ssh://admin@HOST",
    verbs=frozenset({"drain", "shut"}),
    writer=lambda access: SonicWriter(access=access),
    labels="sonic",
)
