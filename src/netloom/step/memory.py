"""What one GPU holds, and whether it fits.

Activations follow Korthikanti et al. 2022 (arXiv:2205.05198) section 4, written out tensor by
tensor so that grouped heads, gated blocks and experts come out too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import InfeasibleError, SpecError
from netloom.provenance import Validity
from netloom.step.model import Memory
from netloom.units import SIZE, format_quantity
from netloom.workload.demand import shard_of
from netloom.workload.flops import ACTIVATION_BYTES, LOGIT_BYTES
from netloom.workload.placement import check_model, num_micro_batches, stage_layers
from netloom.workload.sharding import (
    PLAIN_WEIGHTS,
    stage_dense_layers,
    stage_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.workload.flops import AttentionKernel, Shard
    from netloom.workload.placement import Layout
    from netloom.workload.sharding import WeightFormat
    from netloom.workload.transformer import Transformer

__all__ = [
    "check_memory",
    "fits",
    "fullest_stages",
    "in_flight",
    "kept_bytes",
    "layer_activation_bytes",
    "memory",
    "memory_validity",
    "states",
]

# Adam with fp32 master weights: master, momentum and variance (Rajbhandari et al. 2020,
# arXiv:1910.02054, section 3.1).
OPTIMIZER_BYTES: Final = 12
# CUDA context, NCCL buffers and the allocator's slack; assumed.
RESERVED_BYTES: Final = 2e9
# How far a job may come out over the GPU's memory before it is refused, and how near to it
# before the fit is in doubt. Frameworks differ in what they keep; the published run
# nvidia_dgxc-0105 (NVIDIA/dgxc-benchmarking) comes out 0.8 % over. Assumed.
REFUSED_OVER: Final = 1.10
DOUBTED_OVER: Final = 0.95


def memory(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    gpu: Gpu,
    practice: Practice | None = None,
) -> Memory:
    """Return what one GPU of the fullest pipeline stage holds.

    Without a *practice*, with fused attention and weights and gradients of the precision.
    """
    held = [
        _stage(shape, plan, training, stage=stage, gpu=gpu, practice=practice)
        for stage in fullest_stages(plan.pipeline)
    ]
    return max(held, key=lambda one: one.total_bytes)


def fullest_stages(num_stages: int) -> list[int]:
    """Return the stages of which one is the fullest.

    The first stage holds most micro-batches, the second may hold a layer more, the last has the
    logits; those between lie between.
    """
    return sorted({0, min(1, num_stages - 1), num_stages // 2, num_stages - 1})


def check_memory(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    gpu: Gpu,
    practice: Practice | None = None,
) -> Memory:
    """Return :func:`memory`.

    Raises:
        InfeasibleError: it does not fit by more than a tenth; the message names the changes that
            would make it fit.
    """
    held = memory(shape, plan, training, gpu=gpu, practice=practice)
    if fits(held):
        return held
    fitting = [
        name
        for name, other_plan, other in _remedies(plan, training)
        if _possible(shape, other_plan, other)
        and fits(memory(shape, other_plan, other, gpu=gpu, practice=practice))
    ]
    needs = (
        f"{shape.model.name} needs {_show(held.total_bytes + RESERVED_BYTES)} on a GPU "
        f"(weights {_show(held.weights_bytes)}, gradients {_show(held.gradients_bytes)}, "
        f"optimizer {_show(held.optimizer_bytes)}, activations {_show(held.activations_bytes)}, "
        f"reserved {_show(RESERVED_BYTES)}), but {gpu.name} has {_show(held.capacity_bytes)}"
    )
    helps = f"any of these fits: {', '.join(fitting)}" if fitting else "use more GPUs per copy"
    raise InfeasibleError(key="job", what=needs, remedy=helps)


def layer_activation_bytes(
    shape: Transformer, shard: Shard, *, moe: bool, training: Training, attention: AttentionKernel
) -> float:
    """Return what one layer keeps of one micro-batch until its backward pass."""
    model = shape.model
    if training.recompute == "full":
        return ACTIVATION_BYTES * shard.split_tokens * model.hidden
    light = training.recompute == "light"
    # Inputs of both norms and of both blocks (the blocks' are kept split with sequence
    # parallelism), and for models with dropout two masks of a byte: 4h + 4h + 2h.
    inputs = ACTIVATION_BYTES * (2 if light else 4) + (2 if model.biases else 0)
    kept = shard.split_tokens * model.hidden * inputs
    kept += _attention_activation_bytes(shape, shard, light=light)
    kept += _block_activation_bytes(shape, shard, moe=moe, light=light)
    if training.recompute in {"none", "light"} and attention == "unfused":
        # Softmax output, dropout output and mask: 5 bytes a score with dropout, else 2.
        per_score = 5 if model.biases else ACTIVATION_BYTES
        kept += per_score * shard.tokens * shard.sequence * model.num_heads / shard.tensor
    return kept


def _attention_activation_bytes(shape: Transformer, shard: Shard, *, light: bool) -> float:
    """Return queries, keys, values and output; of latent attention, light, what they come from."""
    model = shape.model
    output = shard.tokens * shape.output_width / shard.tensor
    if light and shape.is_mla:
        latent = model.kv_rank + model.rope_head_dim + model.query_rank
        return ACTIVATION_BYTES * (output + shard.split_tokens * latent)
    width = shape.query_width / shard.tensor + shape.kv_width_of_rank(shard.tensor)
    return ACTIVATION_BYTES * (output + shard.tokens * width)


def _block_activation_bytes(shape: Transformer, shard: Shard, *, moe: bool, light: bool) -> float:
    model = shape.model
    # What enters the activation, and what leaves it unless that is computed again.
    widths = shape.num_ffn_matrices - (1 if light else 0)
    if not moe:
        rows = shard.tokens * model.ffn_hidden / shard.tensor
        return ACTIVATION_BYTES * widths * rows
    sent = shard.split_tokens * model.experts_per_token
    shared = shard.tokens * model.num_shared_experts / shard.tensor
    rows = shard.tokens * model.experts_per_token / shard.tensor if shard.expert == 1 else sent
    inner = ACTIVATION_BYTES * widths * (rows + shared) * model.expert_hidden
    # Tokens at the experts; and from them, unless weighted before the last product.
    return inner + (1 if light else 2) * ACTIVATION_BYTES * sent * model.hidden


def _stage(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stage: int,
    gpu: Gpu,
    practice: Practice | None,
) -> Memory:
    attention = practice.attention if practice else "fused"
    weights = practice.weights if practice else PLAIN_WEIGHTS
    one, logits = kept_bytes(shape, plan, training, stage=stage, attention=attention)
    batches = training.global_batch // (plan.data * training.micro_batch)
    at_once = in_flight(plan, num_micro_batches=batches, virtual=plan.virtual_pipeline, stage=stage)
    held = states(shape, plan, training, stage=stage, gpu=gpu, weights=weights)
    return replace(held, activations_bytes=one * at_once + logits)


def states(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stage: int,
    gpu: Gpu,
    weights: WeightFormat = PLAIN_WEIGHTS,
) -> Memory:
    """Return what a GPU of *stage* holds besides activations."""
    held = stage_parameters(shape, plan, stage=stage)
    grads = weights.gradient_bytes_of(training.precision)
    split = _weights_per_gpu(plan, held.dense, held.experts)
    everything = held.dense + held.experts
    return Memory(
        weights_bytes=weights.parameter_bytes * (split if plan.zero >= 3 else everything),
        gradients_bytes=grads * (split if plan.zero >= 2 else everything),
        optimizer_bytes=OPTIMIZER_BYTES * (split if plan.zero >= 1 else everything),
        activations_bytes=0.0,
        capacity_bytes=gpu.memory_bytes,
    )


def _weights_per_gpu(plan: Layout, dense: float, experts: float) -> float:
    copies = plan.expert_data if plan.expert > 1 else plan.replicas
    return dense / plan.replicas + experts / copies


def kept_bytes(
    shape: Transformer, plan: Layout, training: Training, *, stage: int, attention: AttentionKernel
) -> tuple[float, float]:
    """Return what *stage* keeps of one micro-batch in its layers, and once of the logits."""
    shard = shard_of(plan, training)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    num_dense = stage_dense_layers(shape, counts, stage)
    one = sum(
        num * layer_activation_bytes(shape, shard, moe=moe, training=training, attention=attention)
        for num, moe in ((num_dense, False), (counts[stage] - num_dense, True))
        if num
    )
    if stage < plan.pipeline - 1:
        return one, 0.0
    logits = shard.tokens * shape.model.vocabulary / plan.tensor
    return one, logits * (ACTIVATION_BYTES + LOGIT_BYTES)


def in_flight(plan: Layout, *, num_micro_batches: int, virtual: int, stage: int) -> float:
    """Return the micro-batches whose activations *stage* holds at once.

    GPipe: all. 1F1B: one for itself and each later stage, and so with ZB-H1 (Qi et al. 2023,
    arXiv:2401.10241, section 2.2). With v virtual stages, Megatron's warm-up runs
    2 (p - stage - 1) + (v - 1) p chunks before the first backward, each 1/v of a micro-batch:
    on the first stage p (1 + (p - 1)/(p v)) (Korthikanti et al. 2022, section 4.2.3). Both
    counts may be arrays.
    """
    if plan.schedule == "gpipe":
        return 1.0 * num_micro_batches
    last = plan.pipeline - 1
    interleaved = plan.pipeline + (last - 2 * stage) / virtual
    ahead: Any = np.where(np.greater(virtual, 1), interleaved, plan.pipeline - stage + 0.0)
    at_once: float = np.minimum(ahead, num_micro_batches)
    return at_once


def _remedies(plan: Layout, training: Training) -> Iterator[tuple[str, Layout, Training]]:
    """Yield single changes that keep the number of GPUs."""
    for recompute in ("light", "selective", "full"):
        if training.recompute in ("none", "selective") and recompute != training.recompute:
            yield (
                f"recompute: {recompute}",
                plan,
                training.model_copy(update={"recompute": recompute}),
            )
    if training.micro_batch > 1:
        yield "micro_batch: 1", plan, training.model_copy(update={"micro_batch": 1})
    for zero in range(plan.zero + 1, 4):
        yield f"zero: {zero}", replace(plan, zero=zero), training
    for axis in ("tensor", "pipeline"):
        for factor in (2, 4, 8):
            if plan.data % factor == 0:
                degree = factor * getattr(plan, axis)
                changed = replace(plan, data=plan.data // factor, **{axis: degree})
                yield f"{axis}: {degree} with data: {changed.data}", changed, training


def _possible(shape: Transformer, plan: Layout, training: Training) -> bool:
    """Return whether model, experts and batch still divide."""
    try:
        check_model(shape.model, plan)
        num_micro_batches(training, plan)
    except SpecError:
        return False
    return plan.stage_gpus % plan.expert == 0


def memory_validity(held: Memory) -> Validity:
    """Return whether what a GPU holds is well below what it has."""
    share = (held.total_bytes + RESERVED_BYTES) / held.capacity_bytes
    if share <= DOUBTED_OVER:
        return Validity()
    return Validity((f"Memory comes out at {share:.0%} of the GPU's; it may not fit.",))


def fits(held: Memory) -> bool:
    """Return whether a GPU can hold it, give or take what frameworks differ in."""
    return held.total_bytes + RESERVED_BYTES <= REFUSED_OVER * held.capacity_bytes


def _show(size_bytes: float) -> str:
    return format_quantity(size_bytes, SIZE)
