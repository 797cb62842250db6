"""Megatron-LM of 2022: sequence parallelism and selective recomputation, nothing overlapped."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.step.practice import Practice

__all__ = ["ENTRY"]

ENTRY = Practice(
    name="megatron-2022",
    title="Megatron-LM 2022",
    released="2022-05",
    attention="unfused",
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=False,
    zero_stages=(0, 1),
    divides_context=False,
    host_s=1.18e-3,  # fitted, docs/models/step.md
    source=Source(
        citation="arXiv:2205.05198 section 6; Megatron-LM 2021-22 (local DDP, no FlashAttention)",
        confidence="published",
    ),
)
