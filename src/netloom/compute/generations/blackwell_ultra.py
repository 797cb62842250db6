"""Blackwell Ultra (2025): B300, GB300."""

from __future__ import annotations

from dataclasses import replace

from netloom.compute.generation import GpuGeneration
from netloom.compute.generations.blackwell import GRACE, PRODUCT

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="blackwell ultra",
    product=PRODUCT,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="blackwell",
    nccl=None,
    residual=None,
    # Fitted: bench.fit_steps; nothing in 16 bits was looked at.
    superchips={
        "gb300": replace(GRACE, compute_fp8=0.72, compute_mxfp8=0.804, compute_nvfp4=1.0405)
    },
)
