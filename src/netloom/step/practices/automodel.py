"""NeMo AutoModel: PyTorch FSDP2 with Transformer Engine's layers and DeepEP.

Its parallelizer of mixtures keeps weights gathered between passes (apply_fsdp,
reshard_after_forward False) and sums gradients in fp32, once a step (defer_fsdp_grad_sync; both
read in public copies): the traffic of ZeRO 1, which is what 'zero: 1' then means.
"""

from __future__ import annotations

from netloom.provenance import Source
from netloom.step.practice import Practice

__all__ = ["ENTRY"]

ENTRY = Practice(
    name="automodel",
    title="NeMo AutoModel 2026",
    released="2026-01",
    attention="fused",
    tensor_hidden=0.0,
    pipeline_hidden=0.0,
    overlaps_data=True,
    shards_weights=True,
    zero_stages=(1, 3),
    drag=0.15,  # as Megatron-Core
    state_bytes=4,  # torch.optim.Adam on bf16 parameters (examples/benchmark/configs)
    source=Source(
        citation="NVIDIA-NeMo/Automodel, components/moe/parallelizer.py as repeated in public "
        "copies; attention and products of Transformer Engine (its table of results)",
        confidence="secondary",
    ),
)
