"""How the training software runs a step: which kernels, and what it overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.provenance import Source

if TYPE_CHECKING:
    from netloom.workload.flops import AttentionKernel

__all__ = ["MEGATRON_2022", "MEGATRON_CORE", "Practice", "practice_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """What a framework does with the same job.

    Attributes:
        attention: Whether the score matrix is written to memory.
        tensor_hidden: Share of a layer's tensor-parallel collectives that products hide.
        pipeline_hidden: Share of the transfers between stages that other micro-batches hide
            once the pipeline is full, with virtual stages; without them nothing is hidden.
        overlaps_data: Whether gradients are reduced during the last backward pass and weights
            gathered during the first forward pass.
        source: Who says so.
    """

    name: str
    attention: AttentionKernel
    tensor_hidden: float
    pipeline_hidden: float
    overlaps_data: bool
    source: Source


MEGATRON_2022: Final = Practice(
    name="Megatron-LM 2022",
    attention="unfused",
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=False,
    source=Source(
        citation="arXiv:2205.05198 section 6; Megatron-LM of 2021-22 (local DDP, no FlashAttention)",
        confidence="published",
    ),
)
MEGATRON_CORE: Final = Practice(
    name="Megatron-Core 2024",
    attention="fused",
    tensor_hidden=0.5,
    pipeline_hidden=1.0,
    overlaps_data=True,
    source=Source(
        citation="Megatron-Core flags tp_comm_overlap, overlap_p2p_comm, overlap_grad_reduce, "
        "overlap_param_gather; the share of tensor traffic hidden is our assumption",
        confidence="assumed",
        note="MegaScale (arXiv:2402.15627) Table 3: overlapping tensor traffic raised MFU from "
        "53.3 to 55.5, pipeline to 58.0, data to 59.5 % on 256 GPUs",
    ),
)


def practice_of(framework: str, *, overlap: str = "", params_b: float | None = None) -> Practice:
    old = ("deepspeed", "2020", "2021", "2022", "6985e589")
    return MEGATRON_2022 if any(w in framework for w in old) else MEGATRON_CORE
