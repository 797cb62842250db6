"""All that one GPU of a pipeline stage holds when it holds most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.step.memory.activations import layer_activation_bytes
from netloom.step.memory.explain import explain_memory
from netloom.step.memory.in_flight import fullest_stages, in_flight
from netloom.step.memory.loss import loss_bytes
from netloom.step.memory.states import states
from netloom.step.memory.working import cast_weights, layer_working_bytes
from netloom.workload.demand import shard_of
from netloom.workload.placement import stage_layers
from netloom.workload.sharding import stage_dense_layers

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Training
    from netloom.step.model import Memory
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["StepMemory", "kept_bytes", "memory", "stage_memory", "step_memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMemory:
    """What the allocator of one GPU without a pipeline shows over a step.

    Attributes:
        static_bytes: Between steps.
        forward_end_bytes: When the loss is there.
        peak_bytes: The most.
    """

    static_bytes: float
    forward_end_bytes: float
    peak_bytes: float


def memory(
    shape: Transformer, plan: Layout, training: Training, *, gpu: Gpu, practice: Practice
) -> Memory:
    """Return what one GPU of the fullest pipeline stage holds."""
    held = [
        stage_memory(shape, plan, training, stage=stage, gpu=gpu, practice=practice)
        for stage in fullest_stages(plan.pipeline)
    ]
    fullest = max(held, key=lambda one: one.total_bytes)
    why = explain_memory(fullest, shape, plan, training, gpu=gpu, practice=practice)
    return replace(fullest, why=why)


def stage_memory(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stage: int,
    gpu: Gpu,
    practice: Practice,
) -> Memory:
    """Return what one GPU of *stage* holds."""
    one, logits, working = _kept(shape, plan, training, stage=stage, practice=practice)
    at_once = in_flight(
        plan,
        num_micro_batches=training.global_batch // (plan.data * training.micro_batch),
        virtual=plan.virtual_pipeline,
        stage=stage,
        num_layers=stage_layers(shape.model.num_layers, plan.pipeline)[stage],
    )
    held = states(shape, plan, training, stage=stage, gpu=gpu, practice=practice)
    at_loss = logits > working
    return replace(
        held,
        activations_bytes=float(one * at_once),
        logits_bytes=logits if at_loss else 0.0,
        working_bytes=0.0 if at_loss else working,
    )


def kept_bytes(
    shape: Transformer, plan: Layout, training: Training, *, stage: int, practice: Practice
) -> tuple[float, float]:
    """Return what *stage* keeps of one micro-batch, and once, of the one it works on."""
    one, logits, working = _kept(shape, plan, training, stage=stage, practice=practice)
    return one, max(logits, working)


def _kept(
    shape: Transformer, plan: Layout, training: Training, *, stage: int, practice: Practice
) -> tuple[float, float, float]:
    """Return a micro-batch's activations, the loss at its largest, a layer's backward pass."""
    shard = shard_of(plan, training)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    num_dense = stage_dense_layers(shape, counts, stage)
    kinds = [
        (num, moe) for num, moe in ((num_dense, False), (counts[stage] - num_dense, True)) if num
    ]
    one = sum(
        num * layer_activation_bytes(shape, shard, moe=moe, training=training, practice=practice)
        for num, moe in kinds
    )
    working = max(
        (
            layer_working_bytes(shape, shard, plan, training, moe=moe, practice=practice)
            for _, moe in kinds
        ),
        default=0.0,
    )
    cast = cast_weights(shape, plan, training, stage=stage, practice=practice)
    if stage < plan.pipeline - 1:
        return one, 0.0, cast.kept + max(cast.forward, working)
    loss = loss_bytes(shape, shard, practice=practice)
    at_loss = max(loss.forward + cast.forward, loss.backward)
    return one, cast.kept + at_loss, cast.kept + working


def step_memory(
    shape: Transformer, plan: Layout, training: Training, *, gpu: Gpu, practice: Practice
) -> StepMemory:
    """Return what one GPU without a pipeline holds between steps, after forward, and at most."""
    assert plan.pipeline == 1
    held = stage_memory(shape, plan, training, stage=0, gpu=gpu, practice=practice)
    static = held.weights_bytes + held.gradients_bytes + held.optimizer_bytes
    loss = loss_bytes(shape, shard_of(plan, training), practice=practice)
    cast = cast_weights(shape, plan, training, stage=0, practice=practice)
    return StepMemory(
        static_bytes=static,
        forward_end_bytes=static + held.activations_bytes + loss.kept + cast.kept,
        peak_bytes=held.total_bytes,
    )
