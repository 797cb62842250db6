"""Blackwell Ultra (2025): B300, GB300."""

from __future__ import annotations

from dataclasses import replace

from netloom.compute.generation import GpuGeneration, Highest, StepEvidence
from netloom.compute.generations.blackwell import GRACE, PRODUCT
from netloom.provenance import Validity

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="blackwell ultra",
    product=PRODUCT,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="blackwell",
    nccl=None,
    steps=StepEvidence(residual=None, highest=None, highest_fp8=None),
    superchips={
        # The same machine with the next GPU; no dense step on it was looked at.
        "gb300": StepEvidence(
            residual=replace(
                GRACE, validity=Validity(("No training step on GB300 was looked at.",))
            ),
            highest=None,
            highest_fp8=Highest(
                0.5290, "megatron_bridge-0192", "NVIDIA Megatron-Bridge performance summary"
            ),
        )
    },
)
