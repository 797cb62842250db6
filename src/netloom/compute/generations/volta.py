"""Volta (2017): V100."""

from __future__ import annotations

from netloom.compute.generation import GpuGeneration, NcclLimits, Profile
from netloom.compute.generations.shared import LL_OLD, PARTNERS, VTRAIN, constant

__all__ = ["ENTRY"]

NO_RAMP = constant(
    "time a doubling adds",
    0.0,
    VTRAIN.format("v100"),
    "fitted to the V100 rows of 2 ranks: links of 25 GB/s are full at once",
    unit="s",
)

ENTRY = GpuGeneration(
    name="volta",
    product=None,
    num_multiprocessors=80,  # white paper, recalled
    has_measured_operators=False,
    collectives=Profile(
        generation="volta",
        num_channels=12,
        link_share=constant(
            "share of the link rate in a ring",
            22.5 / 25,
            VTRAIN.format("v100"),
            "22.5 of 25 GB/s, the V100 rows of 2 ranks",
        ),
        fill_steps=constant(
            "fill steps of a ring", 0.0, VTRAIN.format("v100"), "V100 rows of 2 ranks"
        ),
        ramp_s=NO_RAMP,
        ll_share=LL_OLD,
        partners_share=PARTNERS,
    ),
    nearest="",
    nccl=NcclLimits(
        ll_max=(39.0, 39.0, 20.4),
        ring_ll128_max=(20.0, 20.0, 20.0),
        tree_ll128_max=(20.0, 20.0, 20.0),
        tree_max=(26.5, 18.5, 10.0),
        nvls_tree_max=(26.5, 18.5, 10.0),
        nvls_efficiency=0.0,
        link_gbps=20.0,
        collnet_share=1.0,
        full_ring_factor=1.9,
    ),
    residual=None,
    superchips={},
)
