"""What a pass needs for a moment, beside what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from netloom.step.memory.activations import layer_tensors, recomputed_modules
from netloom.step.memory.states import layer_count
from netloom.workload.demand import shard_of
from netloom.workload.flops import ACTIVATION_BYTES
from netloom.workload.parameters import layer_parameters
from netloom.workload.placement import stage_layers
from netloom.workload.sharding import stage_dense_layers

if TYPE_CHECKING:
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["CastWeights", "cast_weights", "layer_working_bytes"]


class CastWeights(NamedTuple):
    """16-bit copies of fp32 weights that autocast makes.

    Attributes:
        kept: From forward to backward, because products keep them.
        forward: In the forward pass besides, until autocast's cache is emptied.
    """

    kept: float
    forward: float


def layer_working_bytes(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    moe: bool,
    practice: Practice,
    kept: float,
) -> float:
    """Return what the backward pass of one layer holds beside what the forward pass *kept*.

    What is computed again is there once; then the gradients of the widest tensors: of what leaves
    the activation function and of what enters it.
    """
    model, shard = shape.model, shard_of(plan, training)
    needed, again = kept, recomputed_modules(training, practice)
    if again:
        everything = layer_tensors(
            shape, shard, moe=moe, training=training, practice=practice, whole=True
        )
        needed = sum(everything.values())
    if moe:
        rows = shard.split_tokens * model.experts_per_token * shard.expert_gathered
        inner = shape.num_ffn_matrices * model.expert_hidden / shard.expert_split
        width = max(shape.expert_input, inner)
    else:
        rows, width = shard.tokens / shard.tensor, shape.num_ffn_matrices * model.ffn_hidden
    held = needed - kept + ACTIVATION_BYTES * rows * width
    if practice.autocast and "layer" in again:
        held += ACTIVATION_BYTES * layer_count(shape, plan, moe=moe)
    return held


def cast_weights(
    shape: Transformer, plan: Layout, training: Training, *, stage: int, practice: Practice
) -> CastWeights:
    """Return autocast's copies; a layer that is computed again casts its own again.

    The weights of experts are cast by hand for their grouped product and leave with it.
    """
    if not practice.autocast:
        return CastWeights(0.0, 0.0)
    head = 0.0
    if stage == plan.pipeline - 1:
        head = ACTIVATION_BYTES * shape.model.vocabulary * shape.model.hidden / plan.tensor
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    num_dense = stage_dense_layers(shape, counts, stage)
    layers = ((num_dense, False), (counts[stage] - num_dense, True))
    if "layer" not in recomputed_modules(training, practice):
        held = sum(n * layer_count(shape, plan, moe=moe) for n, moe in layers if n)
        return CastWeights(head + ACTIVATION_BYTES * held, 0.0)
    products = sum(
        n * layer_parameters(shape, moe=moe).total - n * layer_parameters(shape, moe=moe).experts
        for n, moe in layers
        if n
    )
    return CastWeights(head, ACTIVATION_BYTES * products / plan.tensor)
