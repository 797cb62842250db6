"""Megatron-Core of 2024 (0.8) with its flags for overlap.

Launching a layer with experts kernel by kernel: Qwen3 30B with micro-batches of one sequence on 8
B200 took 27.05 s (Megatron-Bridge 26.02, row megatron_bridge-0027), 2.75 times as long as with
four: over 64 micro-batches, 48 layers and two passes, 4.4 ms. Its layers are Megatron-Core's, whose
host code for experts is as old.

Gated DeltaNet: Qwen3-Next on 64 GB300 took 5.785 s (Megatron-Bridge 26.04, row
megatron_bridge-0164), as if its scans took 13.6 times what flash-linear-attention's kernels do on
one H200. Whether they do, or others in their place, is not published; the time goes with the
tokens, not the launches.
"""

from __future__ import annotations

from netloom.provenance import Source
from netloom.step.practice import Practice

__all__ = ["ENTRY"]

ENTRY = Practice(
    name="megatron-core-2024",
    title="Megatron-Core 2024",
    released="2024-07",
    attention="fused",
    tensor_hidden=0.64,  # fitted, docs/models/step.md
    pipeline_hidden=1.0,
    overlaps_data=True,
    zero_stages=(0, 1),
    zero_ways=frozenset({"sets"}),  # num_distributed_optimizer_instances
    delta_excess=13.6,
    host_experts_s=4.4e-3,
    drag=0.15,  # NCCL occupies 16 to 24 of 132 multiprocessors; recalled
    source=Source(
        citation="Megatron-Core flags tp_comm_overlap, overlap_p2p_comm, overlap_grad_reduce, "
        "overlap_param_gather; the share of tensor traffic hidden is fitted (docs/models/step.md)",
        confidence="derived",
        note="MegaScale (arXiv:2402.15627) Table 3: overlapping tensor traffic raised MFU from "
        "53.3 to 55.5, pipeline to 58.0, data to 59.5 % on 256 GPUs",
    ),
)
