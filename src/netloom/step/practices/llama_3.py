"""What Meta trained Llama 3 with: FSDP of optimizer states and gradients, under its own pipeline.

arXiv:2407.21783, section 3.3.2: weights are not resharded after the forward pass, gradients are
accumulated over micro-batches and reduced in fp32; transfers between stages are asynchronous. Which
micro-batches are summed before gradients are divided is in Meta's account of its parallelism (ISCA
2025, recalled): the consecutive ones of a chunk. Overlap of tensor traffic is not said: none, as
in the scenario that comes with netloom.
"""

from __future__ import annotations

from dataclasses import replace

from netloom.provenance import Source
from netloom.step.practices.megatron_core_2024 import ENTRY as MEGATRON_CORE

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_CORE,
    name="llama-3",
    title="Meta Llama 3 2024",
    flash=2,
    tensor_hidden=0.0,
    gradient_bytes=4,
    shards_weights=True,
    sums_groups=True,
    zero_stages=(1, 2),
    zero_ways=frozenset(),
    source=Source(
        citation="The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.2",
        confidence="secondary",
        note="groups of micro-batches are recalled; the attention kernel is assumed to be "
        "FlashAttention 2",
    ),
)
