"""Hopper (2022): H100, H200."""

from __future__ import annotations

from netloom.compute.generation import (
    GpuGeneration,
    NcclLimits,
    ProductShare,
    Profile,
    Residual,
)
from netloom.compute.generations.shared import LL, NO_FILL, PARTNERS, RAMP, constant
from netloom.provenance import Source

__all__ = ["ENTRY"]

# Median of the 415 bf16 products over 0.1 TFLOP: 681 TFLOP/s, where the best product anyone
# measured on this chip is 794.5 (stas00/ml-engineering, compute/accelerator). The residual's
# flash_2 is published: on H100 FlashAttention-2 reaches 35 % of the peak and FlashAttention-3 75 %
# at most (arXiv:2407.08608; recalled), the kernels measured on Hopper 65 %.
ENTRY = GpuGeneration(
    name="hopper",
    product=ProductShare(
        681 / 794.5,
        Source(
            citation="PyTorch 2.11, CUDA 13, eager, one H200: median of 415 bf16 matrix products",
            confidence="measured",
        ),
    ),
    num_multiprocessors=132,  # white paper, recalled
    has_measured_operators=True,
    collectives=Profile(
        generation="hopper",
        num_channels=16,
        link_share=constant(
            "share of the link rate in a ring",
            370.0 / 450,
            "NVIDIA/nccl-tests issue #212",
            "a maintainer: 370 of 450 GB/s after protocol overhead; topo.h has 20.6 a link",
        ),
        fill_steps=NO_FILL,
        ramp_s=RAMP,
        ll_share=LL,
        partners_share=PARTNERS,
        nvls_share=constant(
            "share of the GPU's rate with NVLink SHARP",
            307.0 / 450,
            "NVIDIA/nccl issue #1455",
            "algorithm bandwidth 258, 265, 270, 273 GB/s on 5 to 8 GPUs is 307 / (1 + 1/n)",
        ),
        nvls_bus_share=constant(
            "ceiling of NVLink SHARP's bus bandwidth over the GPU's rate",
            480.0 / 450,
            "NVIDIA/nccl-tests issue #212",
            "a maintainer: a peak of about 480 GB/s on 8 GPUs",
        ),
    ),
    nearest="",
    nccl=NcclLimits(
        ll_max=(141.0, 45.0, 35.0),
        ring_ll128_max=(36.7, 36.7, 36.7),
        tree_ll128_max=(36.7, 36.7, 29.0),
        tree_max=(38.7, 41.4, 36.0),
        nvls_tree_max=(0.0, 57.7, 45.5),
        nvls_efficiency=0.85,
        link_gbps=20.6,
        collnet_share=0.85,
        full_ring_factor=1.4,
    ),
    residual=Residual(
        compute=1.027,
        compute_fp8=1.0595,
        flash_1=3.0,
        flash_2=1.85,
        unfused=1.33,
        peak_flops=989e12,
    ),
    superchips={},
)
