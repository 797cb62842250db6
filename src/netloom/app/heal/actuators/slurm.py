"""Nodes of a Slurm cluster by scontrol."""

from __future__ import annotations

from typing import Final

from netloom.drivers.writers.slurm import SlurmWriter
from netloom.ops.heal.actuators import ActuatorKind

__all__ = ["ENTRY"]

ENTRY: Final = ActuatorKind(
    name="slurm",
    summary="nodes of a Slurm cluster by scontrol; address: local or ssh://USER@HOST",
    verbs=frozenset({"cordon"}),
    writer=lambda access: SlurmWriter(access=access),
    labels="",
)
