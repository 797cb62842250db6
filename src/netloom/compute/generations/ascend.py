"""Huawei Ascend 910B and 910C."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="ascend",
    product=None,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=None,
    nearest="cdna",
    nccl=None,
    residual=None,
    superchips={},
)
