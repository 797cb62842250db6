"""Blackwell Ultra (2025): B300, GB300."""

from __future__ import annotations

from dataclasses import replace

from netloom.compute.generation import GpuGeneration
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
    residual=None,
    superchips={
        # The same machine with the next GPU; no dense step on it was looked at.
        "gb300": replace(GRACE, validity=Validity(("No training step on GB300 was looked at.",)))
    },
)
