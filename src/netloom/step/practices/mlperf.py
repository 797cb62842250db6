"""NVIDIA's submissions to MLPerf Training (v3.1 to v5.0): NeMo tuned for one model.

Gradients are kept and reduced in bf16 (``grad_reduce_in_fp32=False``).
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
    gradient_bytes=2,
    graphs_on=frozenset({"gb200", "gb300"}),
)
