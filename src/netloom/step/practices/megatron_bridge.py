"""Megatron-Bridge: NVIDIA's recipes of 2026 on Megatron-Core.

Recipes for GB200 and GB300 put
what they launch into CUDA graphs (cuda_graph_impl). They set grad_reduce_in_fp32=False: gradients
are kept and reduced in bf16.
"""

from __future__ import annotations

from dataclasses import replace

from netloom.step.practices.megatron_core_2024 import ENTRY as MEGATRON_CORE

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_CORE,
    name="megatron-bridge",
    title="Megatron-Bridge 2026",
    released="2026-02",
    zero_stages=(0, 1, 2, 3),  # Megatron-FSDP
    gradient_bytes=2,
    mxfp8_weights=True,  # bf16_with_mxfp8_mixed sets reuse_grad_buf_for_mxfp8_param_ag
    graphs_on=frozenset({"gb200", "gb300"}),
)
