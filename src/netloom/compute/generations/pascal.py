"""Pascal (2016): P100."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="pascal",
    product=None,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="volta",
    nccl=None,
    residual=None,
    superchips={},
)
