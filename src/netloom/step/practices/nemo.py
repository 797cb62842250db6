"""NeMo on Megatron-Core, as NVIDIA's DGX Cloud benchmarks ran it in 2024 and 2025.

Its recipes set grad_reduce_in_fp32=False: gradients are kept and reduced in bf16.
"""

from __future__ import annotations

from dataclasses import replace

from netloom.step.practices.megatron_core_2024 import ENTRY as MEGATRON_CORE

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_CORE,
    name="nemo",
    title="NeMo 2025",
    released="2025-05",
    zero_stages=(0, 1, 2, 3),  # Megatron-FSDP
    gradient_bytes=2,
    on_blackwell=1.124,
)
