"""Ampere (2020): A100."""

from __future__ import annotations

from netloom.compute.generation import (
    GpuGeneration,
    NcclLimits,
    ProductShare,
    Profile,
    Residual,
)
from netloom.compute.generations.shared import (
    LL_OLD,
    ML_ENGINEERING,
    PARTNERS,
    RAMP,
    VTRAIN,
    constant,
)
from netloom.provenance import Source

__all__ = ["ENTRY"]

# Over the best product of the very GPU it was measured on (252.9 TFLOP/s on the A100 PCIe,
# stas00/ml-engineering, compute/accelerator): the median of 183 products, three layouts
# (MooreThreads/SimuMax configs/system), over the ideal time of compute.gemm and less
# TYPICAL_EXCESS of compute.roofline.
ENTRY = GpuGeneration(
    name="ampere",
    product=ProductShare(
        0.907,
        Source(citation="SimuMax a100_pcie.json: 183 bf16 products", confidence="published"),
    ),
    num_multiprocessors=108,  # white paper, recalled
    has_measured_operators=True,
    collectives=Profile(
        generation="ampere",
        num_channels=12,
        link_share=constant(
            "share of the link rate in a ring",
            235.0 / 300,
            f"{ML_ENGINEERING}; NVIDIA/nccl src/graph/tuning.cc at commit 01afd20",
            "234.9 of 300 GB/s at 16 GiB; NCCL itself capped A100 at 235",
        ),
        fill_steps=constant(
            "fill steps of a ring",
            0.4,
            VTRAIN.format("a100"),
            "196.5 GB/s at 2 ranks: 235 x 2 / (2 + 0.4); the rows of 3 to 8 ranks check it",
        ),
        ramp_s=RAMP,
        ll_share=LL_OLD,
        partners_share=PARTNERS,
        launch_s=constant(
            "launching on each GPU of a node",
            4.9e-6,
            f"microsoft/superbenchmark 700d6501 tests/data; {ML_ENGINEERING}",
            "35 us on 8 A100 for 4 B to 16 KiB, 44 us for 32 KiB: the middle",
            unit="s",
        ),
    ),
    nearest="",
    nccl=NcclLimits(
        ll_max=(87.7, 22.5, 19.0),
        ring_ll128_max=(20.0, 20.0, 20.0),
        tree_ll128_max=(20.0, 20.0, 20.0),
        tree_max=(24.0, 23.6, 17.8),
        nvls_tree_max=(24.0, 23.6, 17.8),
        nvls_efficiency=0.0,
        link_gbps=20.0,
        collnet_share=1.0,
        full_ring_factor=1.4,
    ),
    residual=Residual(compute=0.976, flash_1=1.79),
    superchips={},
)
