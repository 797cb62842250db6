"""Megatron-Core of 2025 (0.14): as 2024's wherever dense steps show."""

from __future__ import annotations

from dataclasses import replace

from netloom.step.practices.megatron_core_2024 import ENTRY as MEGATRON_CORE

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_CORE,
    name="megatron-core-2025",
    title="Megatron-Core 2025",
    released="2025-10",
    zero_stages=(0, 1, 2, 3),  # Megatron-FSDP
    on_blackwell=1.225,  # fitted, docs/models/step.md
)
