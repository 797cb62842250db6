"""How what a GPU holds came about: a formula and a source for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.provenance import Source, Why
from netloom.step.memory.activations import layer_tensors
from netloom.step.memory.in_flight import in_flight, micro_batches_at_once
from netloom.step.memory.reserved import CONTEXT_SOURCE, SLACK_SOURCE
from netloom.step.memory.states import (
    eight_bit_copies,
    gradient_size,
    held_parameters,
    keeps_copies_alone,
    trained_count,
)
from netloom.workload.demand import shard_of
from netloom.workload.placement import stage_layers
from netloom.workload.sharding import NF4_BYTES, stage_dense_layers

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Training
    from netloom.step.memory.states import HeldParameters
    from netloom.step.model import Memory
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["explain_memory"]

_ZERO: Final = Source(
    citation="Rajbhandari et al. 2020, arXiv:1910.02054, section 3", confidence="published"
)
_KEPT: Final = Source(
    citation="Korthikanti et al. 2022, arXiv:2205.05198, section 4, tensor by tensor",
    confidence="derived",
    note="checked by: netloom validate memory",
)
_LOSS: Final = Source(
    citation="cross entropy of Megatron-LM and of PyTorch, allocation by allocation",
    confidence="derived",
    note="checked by: netloom validate memory",
)


def explain_memory(
    held: Memory,
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    gpu: Gpu,
    practice: Practice,
) -> Why:
    """Return the tree of numbers that *held* rests on."""
    return Why(
        name=f"memory of a GPU of stage {held.stage + 1} of {plan.pipeline}",
        value=held.total_bytes,
        unit="B",
        how="the sum of the parts; gaps and what is reserved come on top",
        parts=(
            *_states(held, shape, plan, training, gpu=gpu, practice=practice),
            _activations(held, shape, plan, training, practice=practice),
            *_once(held),
            _gaps(held),
            Why(
                name="reserved",
                value=held.reserved_bytes,
                unit="B",
                how="context, and a communicator for each axis with more than one rank",
                source=CONTEXT_SOURCE,
            ),
        ),
    )


def _states(
    held: Memory,
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    gpu: Gpu,
    practice: Practice,
) -> tuple[Why, ...]:
    every = held_parameters(shape, plan, stage=held.stage)
    trained = trained_count(shape, plan, training, stage=held.stage)
    zero = practice.weights.zero_of(plan)
    low_rank = training.tuning.is_low_rank
    copies = eight_bit_copies(training, gpu, practice)
    cast = f", and {copies} B of 8-bit copies of the layers' matrices" if copies else ""
    if copies and keeps_copies_alone(training, practice):
        cast = f" at the ends, {copies} B of 8-bit copies in the layers"
    gradient = gradient_size(training, practice)
    whole = ", those of one chunk whole" if practice.sums_groups and zero == 2 else ""
    stated = practice.state_bytes * (1 - practice.optimizer_offload)
    rows = (
        (
            "weights",
            held.weights_bytes,
            f"{_weight(training, practice)} B a parameter{cast}",
            3,
            (every, trained) if low_rank else (every,),
        ),
        ("gradients", held.gradients_bytes, f"{gradient} B a parameter{whole}", 2, (trained,)),
        ("optimizer", held.optimizer_bytes, f"{stated:g} B a parameter on the GPU", 1, (trained,)),
    )
    return tuple(
        Why(
            name=name,
            value=value,
            unit="B",
            how=f"{how}, {practice.name}; ZeRO {zero}",
            source=_ZERO,
            parts=tuple(
                _counted(count, divided=zero >= divided, low_rank=low_rank and count is trained)
                for count in counts
            ),
        )
        for name, value, how, divided, counts in rows
    )


def _weight(training: Training, practice: Practice) -> str:
    if training.tuning.is_low_rank and training.tuning.frozen_type == "nf4":
        return f"{NF4_BYTES:.2g} (frozen) and {practice.parameter_bytes}"
    return f"{practice.parameter_bytes}"


def _counted(count: HeldParameters, *, divided: bool, low_rank: bool) -> Why:
    what = "low-rank parameters" if low_rank else "parameters"
    if divided:
        return Why(name=f"{what} of its share", value=count.share, how="over data-parallel ranks")
    return Why(name=f"{what} of the GPU", value=count.whole, how="before ZeRO divides them")


def _activations(
    held: Memory, shape: Transformer, plan: Layout, training: Training, *, practice: Practice
) -> Why:
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    num_dense = stage_dense_layers(shape, counts, held.stage)
    moe = num_dense < counts[held.stage]
    tensors = layer_tensors(
        shape, shard_of(plan, training), moe=moe, training=training, practice=practice
    )
    at_once = in_flight(
        plan,
        num_micro_batches=micro_batches_at_once(training, plan, practice),
        virtual=plan.virtual_pipeline,
        stage=held.stage,
        num_layers=counts[held.stage],
    )
    layer = Why(
        name=f"a layer{' with experts' if moe else ''}, one micro-batch",
        value=sum(tensors.values()),
        unit="B",
        how=f"what backward needs, recompute {training.recompute}, {training.precision}",
        source=_KEPT,
        parts=tuple(Why(name=name, value=size, unit="B") for name, size in tensors.items()),
    )
    return Why(
        name="activations",
        value=held.activations_bytes,
        unit="B",
        how="layers x what one keeps x micro-batches in flight",
        parts=(
            Why(name="layers of the stage", value=counts[held.stage]),
            Why(name=f"micro-batches in flight, {plan.schedule}", value=float(at_once)),
            layer,
        ),
    )


def _once(held: Memory) -> tuple[Why, ...]:
    logits = Why(
        name="logits",
        value=held.logits_bytes,
        unit="B",
        how="last norm, logits in 16 bits and fp32, and the loss",
        source=_LOSS,
    )
    working = Why(
        name="working",
        value=held.working_bytes,
        unit="B",
        how="one layer's backward pass: what it computes again, gradients of activations",
        source=_KEPT,
    )
    gathered = Why(
        name="gathered",
        value=held.gathered_bytes,
        unit="B",
        how="weights of two layers and gradients of one, whole, with ZeRO 3",
        source=_ZERO,
    )
    return tuple(one for one in (logits, working, gathered) if one.value)


def _gaps(held: Memory) -> Why:
    return Why(
        name="gaps",
        value=held.slack * held.total_bytes,
        unit="B",
        how=f"{held.slack:.1%} of what is allocated",
        source=SLACK_SOURCE,
    )
