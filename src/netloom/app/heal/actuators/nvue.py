"""An NVIDIA switch by revisions of NVUE."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.nvue import NvueWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="nvue",
    summary="an NVIDIA switch by revisions of NVUE; address: https://HOST:8765",
    verbs=frozenset({"drain", "shut"}),
    writer=lambda access: NvueWriter(access=access),
    labels="cumulus",
)
