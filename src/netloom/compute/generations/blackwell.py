"""Blackwell (2024): B200, GB200."""

from __future__ import annotations

from netloom.compute.generation import (
    GpuGeneration,
    NcclLimits,
    ProductShare,
    Profile,
    Residual,
)
from netloom.compute.generations.shared import LL, NO_FILL, RAMP, TOPO_H, constant
from netloom.provenance import Source

__all__ = ["ENTRY"]

# As Ampere's: 514 products over the best of the B200, 1745 TFLOP/s.
PRODUCT = ProductShare(
    0.660,
    Source(citation="SimuMax b200_bf16_ceperm.json: 514 bf16 products", confidence="published"),
)
# Fitted: bench.fit_steps.
GRACE = Residual(compute=0.797, compute_fp8=0.832, compute_mxfp8=0.881, compute_nvfp4=1.1035)
# Assumed: steps reach the share of the peak that they reach on GB200, less 5 % for 1,000 W instead
# of 1,200; the best product is 0.776 of the peak here and 0.729 there. The steps that were measured
# here ran Megatron-Core of 2025, whose kernels were new to Blackwell.
LESS_POWER = 0.776 / 0.729 * 1.05

# NVLS tree on more than two nodes is 80.0 in one release of NCCL and 43.8 in another; the newer
# is used.
ENTRY = GpuGeneration(
    name="blackwell",
    product=PRODUCT,
    num_multiprocessors=148,  # white paper, recalled
    has_measured_operators=False,
    collectives=Profile(
        generation="blackwell",
        num_channels=16,
        link_share=constant(
            "share of the link rate in a ring",
            40.1 * 18 / 900,
            TOPO_H,
            "what NCCL assumes for a link of 50 GB/s; a fit of B200 gives 0.67 (SimuMax)",
        ),
        fill_steps=NO_FILL,
        ramp_s=RAMP,
        ll_share=LL,
        partners_share=constant(
            "share of the rings' rate with many partners, or one alone",
            0.886,
            "MooreThreads/SimuMax v1.2, system b200_bf16_ceperm",
            "0.5968 over 0.6735, all-to-all over all-gather",
        ),
        overhead_s=constant(
            "overhead of a call",
            22.2e-6,
            "MooreThreads/SimuMax v1.2, system b200_bf16_ceperm",
            "its fixed latency of an all-reduce on 8 B200",
            unit="s",
        ),
        nvls_share=constant(
            "share of the GPU's rate with NVLink SHARP",
            540.0 / 900,
            "coreweave/nccl-tests pull request #43",
            "840 GB/s of bus bandwidth on GB200, put as 540 / (1 + 1/n) at 8 GPUs as on Hopper",
        ),
        nvls_bus_share=constant(
            "ceiling of NVLink SHARP's bus bandwidth over the GPU's rate",
            840.0 / 900,
            "coreweave/nccl-tests pull request #43",
            "839 GB/s at 4 GiB on 72 GB200",
        ),
    ),
    nearest="",
    nccl=NcclLimits(
        ll_max=(282.0, 90.0, 70.0),
        ring_ll128_max=(40.0, 40.0, 40.0),
        tree_ll128_max=(55.6, 31.67, 20.0),
        tree_max=(70.0, 42.8, 24.0),
        nvls_tree_max=(0.0, 96.0, 80.0),
        nvls_efficiency=0.74,
        link_gbps=40.1,
        collnet_share=0.85,
        full_ring_factor=1.4,
    ),
    residual=Residual(
        compute=0.797 * LESS_POWER,
        compute_fp8=0.832 * LESS_POWER,
        compute_mxfp8=0.881 * LESS_POWER,
        compute_nvfp4=1.1035 * LESS_POWER,
        flash_3=1.32,
    ),
    superchips={"gb200": GRACE},
)
