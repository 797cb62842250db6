"""What a GPU holds that the framework's allocator does not count, or cannot use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.provenance import Source

if TYPE_CHECKING:
    from netloom.step.model import Memory
    from netloom.workload.placement import Layout

__all__ = [
    "CONTEXT_SOURCE",
    "RESERVED_BYTES",
    "SLACK",
    "SLACK_SOURCE",
    "needed_bytes",
    "reserved_bytes",
]

# The driver's context with the kernels of a framework; and the channels of one NCCL communicator:
# 16 to 32 of them with buffers of 4 MiB and more to each peer. Recalled.
CONTEXT_BYTES: Final = 0.6e9
COMMUNICATOR_BYTES: Final = 0.3e9
CONTEXT_SOURCE: Final = Source(
    citation="CUDA context and NCCL channel buffers as nvidia-smi shows them", confidence="recalled"
)
# Serving: one context, and communicators of tensor, pipeline, expert and data ranks.
RESERVED_BYTES: Final = 2e9
# What the allocator reserves over what is allocated: 4.9 % in the median of 103 steps on one H200
# (validation/memory/data/h200_step_memory.csv). Recipes of Megatron set expandable_segments, which
# leaves less: 2 %, assumed.
SLACK: Final = {"torch": 0.049, "transformer-engine": 0.02}
SLACK_SOURCE: Final = Source(
    citation="peak_reserved_bytes over peak_allocated_bytes of step_memory.csv, one H200, PyTorch "
    "2.11; with expandable segments assumed",
    confidence="derived",
)


def reserved_bytes(plan: Layout) -> float:
    """Return context and communicators of a GPU; context ranks are counted with the data's."""
    shared = plan.expert_split if plan.expert_split != plan.tensor else 1
    degrees = (plan.tensor, plan.pipeline, plan.replicas, plan.expert, shared)
    return CONTEXT_BYTES + COMMUNICATOR_BYTES * sum(degree > 1 for degree in degrees)


def needed_bytes(held: Memory) -> float:
    """Return what the GPU must have: what is allocated, gaps between it, and what is reserved."""
    return held.total_bytes * (1 + held.slack) + held.reserved_bytes
