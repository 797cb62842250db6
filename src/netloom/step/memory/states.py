"""What a GPU holds between steps: weights, gradients, optimizer states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.spec.precision import is_cast
from netloom.step.memory.reserved import SLACK, reserved_bytes
from netloom.step.model import Memory
from netloom.workload.adapters import adapter_parameters
from netloom.workload.parameters import layer_parameters
from netloom.workload.sharding import (
    NF4_BYTES,
    end_parameters,
    stage_parameters,
    trained_parameters,
)

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.workload.parameters import LayerParameters
    from netloom.workload.placement import Layout
    from netloom.workload.sharding import StageParameters
    from netloom.workload.transformer import Transformer

__all__ = [
    "HeldParameters",
    "eight_bit_copies",
    "gradient_size",
    "held_parameters",
    "keeps_copies_alone",
    "layer_count",
    "states",
    "trained_count",
]

# Embedding, logits and norms stay in 16 bits where the layers' matrices are held in 8.
_END_BYTES: Final = 2
_GATHERED_LAYERS: Final = 2  # FSDP gathers one layer ahead (arXiv:2304.11277, section 3.3)


class HeldParameters(NamedTuple):
    """Parameters of one GPU.

    Attributes:
        whole: Before ZeRO divides them.
        ends: Those of them that belong to embedding, logits and the last norm.
        share: What is left when data-parallel ranks divide them.
    """

    whole: float
    ends: float
    share: float


def states(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stage: int,
    gpu: Gpu,
    practice: Practice,
) -> Memory:
    """Return what a GPU of *stage* holds besides activations.

    Gradients and optimizer states are those of the weights that are trained.
    """
    held = held_parameters(shape, plan, stage=stage)
    trained = trained_count(shape, plan, training, stage=stage)
    zero = practice.weights.zero_of(plan)
    weights = _weights_bytes(held, plan, training, gpu=gpu, practice=practice)
    if training.tuning.is_low_rank:
        added = trained.share if zero >= 3 else trained.whole
        weights += practice.parameter_bytes * added
    weights += _encoder_bytes(shape, training, stage=stage)
    kept_by = practice.state_bytes * (1 - practice.optimizer_offload)
    return Memory(
        weights_bytes=weights,
        gradients_bytes=gradient_size(training, practice)
        * _kept_gradients(trained, plan, practice),
        optimizer_bytes=kept_by * (trained.share if plan.zero >= 1 else trained.whole),
        activations_bytes=0.0,
        capacity_bytes=gpu.memory_bytes,
        gathered_bytes=_gathered_bytes(shape, plan, training, practice),
        reserved_bytes=reserved_bytes(plan),
        slack=SLACK[practice.kernels],
        stage=stage,
    )


def _kept_gradients(trained: HeldParameters, plan: Layout, practice: Practice) -> float:
    """Return the gradients that a GPU holds at most, as a number of parameters.

    Those of a chunk are whole while the micro-batches of a group go through it.
    """
    zero = practice.weights.zero_of(plan)
    if zero < 2:
        return trained.whole
    chunk = trained.whole / plan.virtual_pipeline if practice.sums_groups and zero == 2 else 0.0
    return min(trained.whole, trained.share + chunk)


def held_parameters(shape: Transformer, plan: Layout, *, stage: int) -> HeldParameters:
    """Return the parameters that one GPU of *stage* holds."""
    ends = end_parameters(shape, plan, stage=stage) / plan.tensor
    return _divided(stage_parameters(shape, plan, stage=stage), plan, ends)


def trained_count(
    shape: Transformer, plan: Layout, training: Training, *, stage: int
) -> HeldParameters:
    """Return those of them that are trained, or the low-rank ones beside them."""
    if not training.tuning.is_low_rank:
        return held_parameters(shape, plan, stage=stage)
    return _divided(trained_parameters(shape, plan, training.tuning, stage=stage), plan, 0.0)


def _divided(held: StageParameters, plan: Layout, ends: float) -> HeldParameters:
    return HeldParameters(
        whole=held.dense + held.experts,
        ends=ends,
        share=held.dense / plan.sharers + held.experts / plan.expert_sharers,
    )


def gradient_size(training: Training, practice: Practice) -> int:
    """Return the bytes of one gradient as the software keeps it."""
    return practice.weights.gradient_bytes_of(training.precision)


def layer_count(shape: Transformer, plan: Layout, *, moe: bool) -> float:
    """Return the parameters of one layer that one GPU holds before ZeRO divides them."""
    return _of_rank(layer_parameters(shape, moe=moe), plan)


def _of_rank(one: LayerParameters, plan: Layout) -> float:
    return one.shared / plan.tensor + one.replicated + one.experts / plan.expert_ranks


def _gathered_bytes(
    shape: Transformer, plan: Layout, training: Training, practice: Practice
) -> float:
    """Return what ZeRO 3 gathers: the weights of two layers, the gradients of one."""
    if practice.weights.zero_of(plan) < 3 or plan.replicas == 1:
        return 0.0
    moe = shape.num_moe_layers > 0
    gradient = gradient_size(training, practice)
    if training.tuning.is_low_rank:
        one = _of_rank(adapter_parameters(shape, training.tuning, moe=moe), plan)
        weights = _frozen_bytes(training, practice.parameter_bytes) * layer_count(
            shape, plan, moe=moe
        )
        return _GATHERED_LAYERS * (weights + practice.parameter_bytes * one) + gradient * one
    each = _GATHERED_LAYERS * practice.parameter_bytes + gradient
    return each * layer_count(shape, plan, moe=moe)


def _encoder_bytes(shape: Transformer, training: Training, *, stage: int) -> float:
    """Return a diffusion model's text encoder, whole and in 16 bits, where it runs in the step."""
    blocks, sample = shape.model.diffusion, training.sample
    if blocks is None or sample is None or not sample.encode or stage:
        return 0.0
    return _END_BYTES * blocks.encoder_parameters


def _frozen_bytes(training: Training, parameter_bytes: float) -> float:
    """Return the bytes of a frozen weight of a layer; software has *parameter_bytes* for others."""
    return NF4_BYTES if training.tuning.frozen_type == "nf4" else parameter_bytes


def eight_bit_copies(training: Training, gpu: Gpu, practice: Practice) -> int:
    """Return the 8-bit copies of a weight that stay over the micro-batches of a step.

    Transformer Engine casts weights once a step and keeps the cast ones; products on Hopper take
    8-bit operands in one layout only, so it keeps the transposed matrix, too (recalled). MXFP8
    scales rows and columns in blocks of their own, so both are kept on any GPU (Transformer Engine
    documentation, MXFP8: blocks are one-dimensional). Recipes of fine-tuning do without (NeMo and
    Megatron-Bridge, disable_parameter_transpose_cache). PyTorch casts them in every pass.
    """
    if not is_cast(training.precision) or practice.kernels != "transformer-engine":
        return 0
    twice = gpu.architecture == "Hopper" or training.precision == "mxfp8"
    return 2 if twice and training.tuning.method == "pretrain" else 1


def keeps_copies_alone(training: Training, practice: Practice) -> bool:
    """Return whether the 8-bit copies are the weights, with none in 16 bits beside them.

    Of MXFP8 some software keeps the copies alone: 16-bit weights stand in the gradients' buffer
    while they are gathered (Megatron-Core reuse_grad_buf_for_mxfp8_param_ag).
    """
    return practice.parameter_bytes == 1 or (
        training.precision == "mxfp8" and practice.mxfp8_weights
    )


def _weights_bytes(
    held: HeldParameters, plan: Layout, training: Training, *, gpu: Gpu, practice: Practice
) -> float:
    zero = practice.weights.zero_of(plan)
    if training.tuning.is_low_rank and training.tuning.frozen_type == "nf4":
        ends = held.ends * (held.share / held.whole if zero >= 3 else 1)
        layers = (held.share if zero >= 3 else held.whole) - ends
        return NF4_BYTES * layers + _END_BYTES * ends
    if zero >= 3:
        second = held.whole / plan.zero_backward_ranks if plan.zero_backward_ranks else 0.0
        return practice.parameter_bytes * (held.share + second)
    copies = eight_bit_copies(training, gpu, practice)
    if keeps_copies_alone(training, practice):
        return max(1, copies) * (held.whole - held.ends) + _END_BYTES * held.ends
    return practice.parameter_bytes * held.whole + copies * (held.whole - held.ends)
