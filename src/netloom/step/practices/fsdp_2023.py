"""PyTorch FSDP of 2023, as Composer and llm-foundry ran it."""

from __future__ import annotations

from netloom.provenance import Source
from netloom.step.practice import Practice

__all__ = ["ENTRY"]

ENTRY = Practice(
    name="fsdp-2023",
    title="PyTorch FSDP 2023",
    released="2023-04",
    attention="fused",
    flash=1,
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=True,
    divides_context=False,
    drag=0.895,  # fitted, docs/models/step.md
    fused=False,
    shards_weights=True,
    zero_ways=frozenset({"sets"}),  # ShardingStrategy.HYBRID_SHARD
    source=Source(
        citation="PyTorch FSDP (arXiv:2304.11277): gathers prefetched one layer ahead; what they "
        "cost the computation beside them is fitted (docs/models/step.md)",
        confidence="derived",
    ),
)
