"""Pascal (2016): P100."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration, StepEvidence

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="pascal",
    product=None,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="volta",
    nccl=None,
    steps=StepEvidence(residual=None, highest=None, highest_fp8=None),
    superchips={},
)
