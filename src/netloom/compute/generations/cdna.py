"""CDNA 2 to 4: MI250X, MI300X, MI355X."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration, Profile
from netloom.compute.generations.shared import (
    LL_OLD,
    ML_ENGINEERING,
    NO_FILL,
    PARTNERS,
    RAMP,
    constant,
)

__all__ = ["ENTRY"]

ENTRY = GpuGeneration(
    name="cdna",
    product=None,
    num_multiprocessors=None,
    has_measured_operators=False,
    collectives=Profile(
        generation="ampere",
        num_channels=14,
        link_share=constant(
            "share of the link rate in a ring",
            47.671 / 64,
            ML_ENGINEERING,
            "MI300X, 2 GPUs over one link of 64 GB/s; the row of 8 GPUs checks it",
        ),
        fill_steps=NO_FILL,
        ramp_s=RAMP,
        ll_share=LL_OLD,
        partners_share=PARTNERS,
        hides_steps=False,  # RCCL on MI250X (ROCm/rccl #1490) and MI355X (hisohara/ai-scripts)
        has_ll128=False,  # RCCL leaves it off between nodes (recalled)
    ),
    nearest="",
    nccl=None,
    residual=None,
    superchips={},
)
