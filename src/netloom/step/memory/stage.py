"""All that one GPU of a pipeline stage holds when it holds most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from netloom.step.memory.activations import layer_activation_bytes
from netloom.step.memory.explain import explain_memory
from netloom.step.memory.in_flight import fullest_stages, in_flight, micro_batches_at_once
from netloom.step.memory.loss import loss_bytes
from netloom.step.memory.states import states
from netloom.step.memory.working import cast_weights, layer_working_bytes
from netloom.workload.demand import shard_of
from netloom.workload.placement import stage_layers
from netloom.workload.sharding import stage_dense_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Training
    from netloom.step.model import Memory
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = [
    "KeptBytes",
    "StepMemory",
    "kept_bytes",
    "kept_share",
    "memory",
    "stage_memory",
    "step_memory",
]


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


class KeptBytes(NamedTuple):
    """What a stage keeps.

    Attributes:
        each: Of every micro-batch in flight.
        logits: Once, when the loss is taken; none but on the last stage.
        working: Once, in a layer's backward pass; it or the logits are there.
    """

    each: float
    logits: float
    working: float

    @property
    def once(self) -> float:
        """The larger of what is held once."""
        return max(self.logits, self.working)


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
    (kept,) = kept_bytes(shape, plan, training, stages=[stage], practice=practice)
    at_once = in_flight(
        plan,
        num_micro_batches=micro_batches_at_once(training, plan, practice),
        virtual=plan.virtual_pipeline,
        stage=stage,
        num_layers=stage_layers(shape.model.num_layers, plan.pipeline)[stage],
    )
    held = states(shape, plan, training, stage=stage, gpu=gpu, practice=practice)
    at_loss = kept.logits > kept.working
    return replace(
        held,
        activations_bytes=float(kept.each * at_once),
        logits_bytes=kept.logits if at_loss else 0.0,
        working_bytes=0.0 if at_loss else kept.working,
    )


def kept_share(num_layers: int, practice: Practice) -> float:
    """Return the share of a stage's layers whose activations stay on the GPU.

    Of those that the host keeps, two are on their way at a time (Transformer Engine's double
    buffer).
    """
    kept = num_layers - practice.activation_offload + min(2, practice.activation_offload)
    return min(1.0, max(kept, min(2, num_layers)) / num_layers) if num_layers else 1.0


def kept_bytes(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stages: Sequence[int],
    practice: Practice,
) -> list[KeptBytes]:
    """Return what each of *stages* keeps of one micro-batch, and once, of the one it works on."""
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    layers = _layers(shape, plan, training, practice)
    found = []
    for stage in stages:
        num_dense = stage_dense_layers(shape, counts, stage)
        kinds = ((num_dense, False), (counts[stage] - num_dense, True))
        held = [(num, *layers[moe]) for num, moe in kinds if num]
        each = sum(num * kept for num, kept, _ in held) * kept_share(counts[stage], practice)
        most = max((working for _, _, working in held), default=0.0)
        cast = cast_weights(shape, plan, training, stage=stage, practice=practice)
        logits = 0.0
        if stage == plan.pipeline - 1:
            end = loss_bytes(shape, shard_of(plan, training), practice=practice)
            logits = cast.kept + max(end.forward + cast.forward, end.backward)
        working = cast.kept + max(cast.forward, most)
        found.append(KeptBytes(each=each, logits=logits, working=working))
    return found


def _layers(
    shape: Transformer, plan: Layout, training: Training, practice: Practice
) -> dict[bool, tuple[float, float]]:
    """Return what a layer keeps and works with, by whether it has experts."""
    shard, found = shard_of(plan, training), {}
    for moe, num in ((False, shape.num_dense_layers), (True, shape.num_moe_layers)):
        if num:
            kept = layer_activation_bytes(
                shape, shard, moe=moe, training=training, practice=practice
            )
            found[moe] = (
                kept,
                layer_working_bytes(shape, plan, training, moe=moe, practice=practice, kept=kept),
            )
    return found


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
