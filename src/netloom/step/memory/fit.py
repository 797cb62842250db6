"""Whether a job fits, and what would make it fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.provenance import Validity
from netloom.step.memory.reserved import needed_bytes
from netloom.step.memory.stage import memory
from netloom.units import SIZE, format_quantity
from netloom.workload.placement import check_model, num_micro_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Training
    from netloom.step.model import Memory
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = [
    "DOUBTED_OVER",
    "REFUSED_OVER",
    "MemoryRemedy",
    "check_memory",
    "fits",
    "memory_validity",
    "refusal",
    "remedies",
]

# How far a job may come out over the GPU's memory before it is refused, and how near to it
# before the fit is in doubt. Frameworks differ in what they keep, and a run that took place must
# not be refused: logged peaks come out within a tenth (docs/models/memory.md), and Llama 3 on 8,192
# H100 14.8 % over with its gradients whole in fp32, which Meta divided. Assumed, with that in view.
REFUSED_OVER: Final = 1.15
DOUBTED_OVER: Final = 0.95
_FACTORS: Final = (2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRemedy:
    """One change of a job that keeps the number of GPUs.

    Attributes:
        name: As a scenario writes it.
        parallel: Keys of ``job.parallel`` that change.
        training: Keys of ``job.training`` that change.
    """

    name: str
    parallel: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


def check_memory(
    shape: Transformer, plan: Layout, training: Training, *, gpu: Gpu, practice: Practice
) -> Memory:
    """Return :func:`netloom.step.memory.stage.memory`.

    Raises:
        InfeasibleError: it is over the GPU's memory by more than :data:`REFUSED_OVER`; the
            message names the changes that would make it fit.
    """
    held = memory(shape, plan, training, gpu=gpu, practice=practice)
    if fits(held):
        return held
    found = remedies(shape, plan, training, gpu=gpu, practice=practice)
    raise refusal(held, shape, gpu, [one.name for one in found], practice=practice)


def refusal(
    held: Memory,
    shape: Transformer,
    gpu: Gpu,
    helps: list[str],
    *,
    practice: Practice,
    order: str = "",
) -> InfeasibleError:
    """Return the error for *held*, with what helps; *order* says how that is sorted."""
    parts = {**held.parts_bytes(), "context and communicators": held.reserved_bytes}
    listed = ", ".join(f"{name} {_show(size)}" for name, size in parts.items() if size)
    what = (
        f"{shape.model.name} needs {_show(needed_bytes(held))} on a GPU ({listed}; "
        f"{held.slack:.1%} lost in gaps), but {gpu.name} has {_show(held.capacity_bytes)}"
    )
    remedy = f"any of these fits{order}: {', '.join(helps)}" if helps else "use more GPUs per copy"
    if practice.attention == "unfused":
        remedy += (
            f"; {practice.title} keeps the scores of attention, which newer software or "
            "'attention: flash-2' in job.software does not"
        )
    return InfeasibleError(key="job", what=what, remedy=remedy)


def remedies(
    shape: Transformer, plan: Layout, training: Training, *, gpu: Gpu, practice: Practice
) -> list[MemoryRemedy]:
    """Return the single changes that make the job fit, those that cost no time first.

    Stages of ZeRO that the software lacks are not among them.
    """
    return [
        one
        for one in _changes(plan, training)
        if one.parallel.get("zero", 0) in (0, *practice.zero_stages)
        and _helps(shape, *_changed(plan, training, one), gpu=gpu, practice=practice)
    ]


def _helps(
    shape: Transformer, plan: Layout, training: Training, *, gpu: Gpu, practice: Practice
) -> bool:
    return _possible(shape, plan, training) and fits(
        memory(shape, plan, training, gpu=gpu, practice=practice)
    )


def _changed(plan: Layout, training: Training, one: MemoryRemedy) -> tuple[Layout, Training]:
    return replace(plan, **one.parallel), training.model_copy(update=one.training)


def _changes(plan: Layout, training: Training) -> Iterator[MemoryRemedy]:
    """Yield single changes in the order of what they usually cost.

    Dividing states and tokens costs nothing to speak of; then a little computation; then
    gradients that are divided after every micro-batch; then more ranks that must wait for one
    another; then a third of all computation. Tensor and expert ranks stay in the scale-up domain.
    """
    if plan.tensor > 1 and not plan.sequence_parallel:
        yield MemoryRemedy(name="sequence_parallel: true", parallel={"sequence_parallel": True})
    if plan.zero < 1:
        yield _zero(1)
    yield from _recomputing(training, "light", "selective")
    if plan.zero < 2:
        yield _zero(2)
    if training.micro_batch > 1:
        yield MemoryRemedy(name="micro_batch: 1", training={"micro_batch": 1})
    yield from _more_experts(plan)
    for axis in ("tensor", "pipeline"):
        yield from _more_ranks(plan, axis)
    if plan.zero < 3:
        yield _zero(3)
    yield from _recomputing(training, "full")


def _zero(stage: int) -> MemoryRemedy:
    return MemoryRemedy(name=f"zero: {stage}", parallel={"zero": stage})


def _recomputing(training: Training, *kinds: str) -> Iterator[MemoryRemedy]:
    if training.recompute == "full":
        return
    for kind in kinds:
        if kind != training.recompute:
            yield MemoryRemedy(name=f"recompute: {kind}", training={"recompute": kind})


def _more_experts(plan: Layout) -> Iterator[MemoryRemedy]:
    """Yield larger expert degrees, which take no GPUs from other axes."""
    for factor in _FACTORS:
        degree = factor * plan.expert
        if degree <= plan.gpus_per_node:
            yield MemoryRemedy(name=f"expert: {degree}", parallel={"expert": degree})


def _more_ranks(plan: Layout, axis: str) -> Iterator[MemoryRemedy]:
    for factor in _FACTORS:
        degree, data = factor * getattr(plan, axis), plan.data // factor
        if plan.data % factor or (axis == "tensor" and degree > plan.gpus_per_node):
            continue
        yield MemoryRemedy(
            name=f"{axis}: {degree} with data: {data}", parallel={axis: degree, "data": data}
        )


def _possible(shape: Transformer, plan: Layout, training: Training) -> bool:
    """Return whether model, experts and batch still divide."""
    try:
        check_model(shape.model, plan)
        num_micro_batches(training, plan)
    except SpecError:
        return False
    return plan.stage_gpus % plan.expert_ranks == 0


def memory_validity(held: Memory) -> Validity:
    """Return whether what a GPU needs is well below what it has."""
    share = needed_bytes(held) / held.capacity_bytes
    if share <= DOUBTED_OVER:
        return Validity()
    return Validity((f"Memory comes out at {share:.0%} of the GPU's; it may not fit.",))


def fits(held: Memory) -> bool:
    """Return whether a GPU can hold it, give or take what frameworks differ in."""
    return needed_bytes(held) <= REFUSED_OVER * held.capacity_bytes


def _show(size_bytes: float) -> str:
    return format_quantity(size_bytes, SIZE)
