"""Megatron-DeepSpeed of 2022: Megatron-LM's layers and kernels, DeepSpeed's pipeline engine."""

from __future__ import annotations

from dataclasses import replace

from netloom.step.practices.megatron_2022 import ENTRY as MEGATRON_2022

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_2022,
    name="deepspeed",
    title="Megatron-DeepSpeed 2022",
    released="2022-01",
    zero_stages=(0, 1, 2, 3),
    # MiCS; ZeRO++ (arXiv:2306.10209)
    zero_ways=frozenset({"sets", "second set", "compressed"}),
)
