"""NVIDIA's submissions to MLPerf Training (v3.1 to v5.0): NeMo tuned for one model.

That of Llama 3.1 405B (v5.0) reduces gradients in bf16 (grad_reduce_in_fp32 False) and holds FP8
parameters; in other precisions weights are held in 16 bits.
"""

from __future__ import annotations

from dataclasses import replace

from netloom.step.practices.megatron_core_2024 import ENTRY as MEGATRON_CORE

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_CORE,
    name="mlperf",
    title="NeMo as submitted to MLPerf 2025",
    released="2025-06",
    is_submission=True,
    gradient_bytes=2,
    parameter_bytes=1,
    graphs_on=frozenset({"gb200", "gb300"}),
)
