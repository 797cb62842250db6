"""Rubin (2026)."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration, StepEvidence

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="rubin",
    product=None,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="blackwell",
    nccl=None,
    steps=StepEvidence(residual=None, highest=None, highest_fp8=None),
    superchips={},
)
