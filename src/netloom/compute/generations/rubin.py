"""Rubin (2026)."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="rubin",
    product=None,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="blackwell",
    nccl=None,
    residual=None,
    superchips={},
)
