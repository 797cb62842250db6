"""Megatron-Bridge: NVIDIA's recipes of 2026 on Megatron-Core.

Launching a layer with experts kernel by kernel: Qwen3 30B with micro-batches of one sequence on 8
B200 took 27.05 s (Megatron-Bridge 26.02, row megatron_bridge-0027), 2.75 times as long as with
four: over 64 micro-batches, 48 layers and two passes, 4.4 ms. Recipes for GB200 and GB300 put
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
    host_experts_s=4.4e-3,
    gradient_bytes=2,
    graphs_on=frozenset({"gb200", "gb300"}),
)
