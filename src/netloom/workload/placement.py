"""Which ranks talk to each other, and where they sit.

Ranks are numbered as Megatron numbers them (``parallel_state.initialize_model_parallel``,
order ``tp-cp-ep-dp-pp``): tensor fastest, then context, then data, then pipeline. Experts are
spread over the tensor x context x data block of one pipeline stage, folded over it apart from
attention (parallel folding, arXiv:2504.14960): ranks that share an expert's matrices fastest, then
those that hold different experts, then copies. Ranks fill nodes in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.workload.collective import Axis, Group
from netloom.workload.zero.ranks import check_sets_of_experts, zero_ranks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.parts.parts import Model, Node
    from netloom.spec.scenario import (
        ContextExchange,
        ExpertDispatch,
        Parallel,
        PipelineOrder,
        Placement,
        Training,
    )

__all__ = ["Layout", "check_router", "groups", "layout", "num_micro_batches", "pair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The parallel degrees, all of them known, and the machines they are laid over.

    Attributes:
        expert_data: GPUs that hold copies of the same experts.
        zero_ranks: Ranks that share what ZeRO divides; 0 for all copies.
        zero_backward_ranks: Ranks that share a second set of weights; 0 for none.
        expert_tensor: GPUs that share each expert's matrices; None where the job does not say.
    """

    tensor: int
    context: int
    data: int
    pipeline: int
    virtual_pipeline: int
    expert: int
    zero: int
    sequence_parallel: bool
    gpus_per_node: int
    displaced: float
    schedule: PipelineOrder = "1f1b"
    context_exchange: ContextExchange = "ring"
    expert_dispatch: ExpertDispatch = "all-to-all"
    expert_overlap: bool = False
    zero_ranks: int = 0
    zero_backward_ranks: int = 0
    zero_compress: tuple[str, ...] = ()
    expert_tensor: int | None = None

    @property
    def num_gpus(self) -> int:
        """GPUs of the job."""
        return self.stage_gpus * self.pipeline

    @property
    def stage_gpus(self) -> int:
        """GPUs of one pipeline stage."""
        return self.tensor * self.context * self.data

    @property
    def replicas(self) -> int:
        """GPUs that hold the same dense weights: Megatron reduces over data x context."""
        return self.data * self.context

    @property
    def sharers(self) -> int:
        """GPUs that share what ZeRO divides of the dense weights."""
        return self.zero_ranks or self.replicas

    @property
    def expert_sharers(self) -> int:
        """GPUs that share what ZeRO divides of the experts."""
        return self.expert_data if self.has_spread_experts else self.sharers

    @property
    def has_spread_experts(self) -> bool:
        """Whether copies of experts are on other ranks than copies of the dense weights."""
        return self.expert > 1 or self.expert_split != self.tensor

    @property
    def expert_split(self) -> int:
        """GPUs that share each expert's matrices.

        Where the job does not say: recipes of Megatron-Bridge and NeMo that spread experts do not
        divide them as well; experts that are not spread are divided as all other matrices.
        """
        return self.expert_tensor or (1 if self.expert > 1 else self.tensor)

    @property
    def expert_ranks(self) -> int:
        """GPUs that hold all experts of a layer once."""
        return self.expert * self.expert_split

    @property
    def expert_data(self) -> int:
        """GPUs that hold copies of the same experts."""
        return self.stage_gpus // self.expert_ranks

    def group(self, *, size: int, stride: int) -> Group:
        """Return the group of *size* ranks that are *stride* ranks apart.

        Where groups do not fit nodes evenly some straddle a boundary; the group returned is
        one of those, since the others wait for it.
        """
        per_node = max(1, min(size, self.gpus_per_node // stride))
        if self._straddles(size * stride):
            per_node = max(1, min(per_node, -(-size // (size * stride // self.gpus_per_node + 2))))
        spread = size > per_node
        return Group(
            size=size,
            per_node=per_node,
            node_stride=max(1, stride // self.gpus_per_node) if spread else 1,
            active_per_node=min(self.gpus_per_node, self.num_gpus),
            displaced=self.displaced if spread else 0.0,
        )

    def _straddles(self, span: int) -> bool:
        """Return whether blocks of *span* ranks, laid end to end, cross nodes unevenly."""
        nodes = self.gpus_per_node
        return span > 1 and self.num_gpus > nodes and nodes % span != 0 and span % nodes != 0


def layout(
    parallel: Parallel,
    *,
    node: Node,
    num_gpus: int,
    placement: Placement,
) -> Layout:
    """Return the layout of *parallel* on *num_gpus* GPUs of *node*.

    Raises:
        SpecError: the degrees do not multiply out to the GPUs, or contradict one another.
    """
    data = _data(parallel, num_gpus)
    plan = Layout(
        tensor=parallel.tensor,
        context=parallel.context,
        data=data,
        pipeline=parallel.pipeline,
        virtual_pipeline=parallel.virtual_pipeline,
        expert=parallel.expert,
        zero=parallel.zero,
        sequence_parallel=parallel.sequence_parallel and parallel.tensor > 1,
        gpus_per_node=node.num_gpus,
        displaced=1.0 if placement.kind == "scattered" else placement.displaced,
        schedule=parallel.schedule,
        context_exchange=parallel.context_exchange,
        expert_dispatch=parallel.expert_dispatch,
        expert_overlap=parallel.expert_overlap,
        zero_compress=parallel.zero_compress,
        expert_tensor=parallel.expert_tensor,
    )
    _check_degrees(plan, parallel)
    ranks, backward = zero_ranks_of(plan, parallel)
    return replace(plan, zero_ranks=ranks, zero_backward_ranks=backward)


def groups(
    parallel: Parallel, *, node: Node, num_gpus: int, placement: Placement
) -> Mapping[Axis, Group]:
    """Return the group that each axis communicates in.

    The data group holds all copies of the dense weights (data x context ranks); copies of the
    same experts are :attr:`Layout.expert_data` ranks.

    Raises:
        SpecError: as :func:`layout`.
    """
    return axis_groups(layout(parallel, node=node, num_gpus=num_gpus, placement=placement))


def axis_groups(plan: Layout) -> Mapping[Axis, Group]:
    """Return the group of each axis of *plan*."""
    return {axis: axis_group(plan, axis) for axis in Axis}


def axis_group(plan: Layout, axis: Axis) -> Group:
    """Return the group of one axis of *plan*."""
    match axis:
        case Axis.TENSOR:
            return plan.group(size=plan.tensor, stride=1)
        case Axis.CONTEXT:
            return plan.group(size=plan.context, stride=plan.tensor)
        case Axis.EXPERT:
            return plan.group(size=plan.expert, stride=plan.expert_split)
        case Axis.DATA:
            return plan.group(size=plan.replicas, stride=plan.tensor)
        case Axis.PIPELINE:
            return plan.group(size=plan.pipeline, stride=plan.stage_gpus)


def expert_data_group(plan: Layout) -> Group:
    """Return the ranks that reduce the gradients of the same experts."""
    return plan.group(size=plan.expert_data, stride=plan.expert_ranks)


def expert_tensor_group(plan: Layout) -> Group:
    """Return the ranks that share each expert's matrices."""
    return plan.group(size=plan.expert_split, stride=1)


def expert_ranks_group(plan: Layout) -> Group:
    """Return the ranks that hold all experts of a layer once."""
    return plan.group(size=plan.expert_ranks, stride=1)


def pair(group: Group) -> Group:
    """Return two neighbours of *group*: in one node only when the whole group is."""
    return Group(
        size=2,
        per_node=1 if group.num_nodes > 1 else 2,
        node_stride=group.node_stride,
        active_per_node=group.active_per_node,
        displaced=group.displaced,
        span_nodes=group.span_nodes,
    )


def check_model(model: Model, plan: Layout) -> None:
    """Raise SpecError unless *model* can be divided as *plan* asks."""
    _divides("tensor", plan.tensor, model.num_heads, f"heads of {model.name}")
    _divides("tensor", plan.tensor, model.ffn_hidden, f"feed-forward columns of {model.name}")
    if model.num_experts:
        _divides("expert", plan.expert, model.num_experts, f"experts of {model.name}")
        columns = f"columns of an expert of {model.name}"
        _divides("expert_tensor", plan.expert_split, model.expert_hidden, columns)
        check_sets_of_experts(plan)
    elif plan.expert > 1:
        raise SpecError(
            key="job.parallel.expert",
            what=f"{plan.expert} asks for experts, but {model.name} has none",
            remedy="leave it out",
        )
    chunks = plan.pipeline * plan.virtual_pipeline
    most = model.num_layers + 2  # the first and the last chunk may hold no layer: Llama 3
    if chunks > most:
        raise SpecError(
            key="job.parallel",
            what=(
                f"pipeline {plan.pipeline} x virtual_pipeline {plan.virtual_pipeline} "
                f"makes {chunks} chunks, but {model.name} has {model.num_layers} layers, "
                "the embedding and the logits"
            ),
            remedy=f"lower their product to {most} or less",
        )


def check_router(model: Model, training: Training) -> None:
    """Raise SpecError where *training* says how tokens go to experts that *model* does not have."""
    if model.num_experts:
        return
    told = {
        "router_imbalance": training.router_imbalance > 0,
        "router_choice": training.router_choice != "any",
        "expert_capacity": training.expert_capacity is not None,
    }
    for name, is_told in told.items():
        if is_told:
            raise SpecError(
                key=f"job.training.{name}",
                what=f"it is about a router of experts, but {model.name} has none",
                remedy="leave it out, or name a mixture of experts in job.model",
            )


def num_micro_batches(training: Training, plan: Layout) -> int:
    """Return the micro-batches one data-parallel rank works through in a step.

    Raises:
        SpecError: the global batch does not divide, or leaves interleaved stages idle.
    """
    at_once = plan.data * training.micro_batch
    if training.global_batch % at_once:
        below = training.global_batch // at_once * at_once
        nearest = f"{below:,} or {below + at_once:,}" if below else f"{at_once:,}"
        raise SpecError(
            key="job.training.global_batch",
            what=(
                f"{training.global_batch:,} sequences do not divide by data {plan.data:,} "
                f"x micro_batch {training.micro_batch} = {at_once:,}"
            ),
            remedy=f"use {nearest}",
        )
    if training.sequence % (2 * plan.context if plan.context > 1 else 1):
        raise SpecError(
            key="job.training.sequence",
            what=f"{training.sequence:,} tokens do not divide over context {plan.context}",
            remedy="a causal sequence is cut into 2 x context pieces",
        )
    count = training.global_batch // at_once
    if plan.virtual_pipeline > 1 and count < plan.pipeline:
        raise SpecError(
            key="job.parallel.virtual_pipeline",
            what=(
                "interleaving passes micro-batches round in groups of pipeline "
                f"{plan.pipeline}, but a rank has {count}"
            ),
            remedy=(
                f"use virtual_pipeline: 1 or a global_batch of {plan.pipeline * at_once:,} and more"
            ),
        )
    return count


@lru_cache(maxsize=4096)
def stage_layers(num_layers: int, num_stages: int) -> tuple[int, ...]:
    """Return the layers of each pipeline stage, first to last.

    As even as possible. What does not divide goes to the inner stages first, because the first
    also holds the embedding and the last the logits (Llama 3, arXiv:2407.21783 section 3.3.2,
    takes one layer each from them).
    """
    base, extra = divmod(num_layers, num_stages)
    inner_first = [*range(1, num_stages - 1), 0, num_stages - 1]
    fuller = set(inner_first[:extra])
    return tuple(base + (stage in fuller) for stage in range(num_stages))


def has_even_chunks(num_layers: int, num_stages: int, num_chunks: int) -> bool:
    """Return whether the chunks of all stages can hold equally much.

    The first and the last may have the embedding and the logits in place of a layer (Megatron-LM
    divides the layers, counted with account_for_embedding_in_pipeline_split and
    account_for_loss_in_pipeline_split; recalled). One chunk to a stage is never uneven: what does
    not divide is then laid out as :func:`stage_layers` says.
    """
    if num_chunks == 1:
        return True
    return any((num_layers + ends) % (num_stages * num_chunks) == 0 for ends in (0, 1, 2))


def _data(parallel: Parallel, num_gpus: int) -> int:
    fixed = parallel.tensor * parallel.pipeline * parallel.context
    written = (
        f"tensor {parallel.tensor} x pipeline {parallel.pipeline} x context {parallel.context}"
    )
    if num_gpus % fixed:
        raise SpecError(
            key="job.parallel",
            what=f"{written} = {fixed:,} does not divide the cluster's {num_gpus:,} GPUs",
            remedy=_nearest(num_gpus, fixed),
        )
    left = num_gpus // fixed
    if parallel.data not in (None, left):
        raise SpecError(
            key="job.parallel",
            what=(
                f"{written} leaves {left:,} for data; data: {parallel.data:,} makes "
                f"{parallel.data * fixed:,} of {num_gpus:,} GPUs"
            ),
            remedy=f"write data: {left} or leave it out",
        )
    return left


def _nearest(num_gpus: int, fixed: int) -> str:
    below = num_gpus // fixed * fixed
    sizes = f"{below:,} or {below + fixed:,}" if below else f"{fixed:,}"
    return f"use {sizes} GPUs, or degrees whose product divides {num_gpus:,}"


def _check_degrees(plan: Layout, parallel: Parallel) -> None:
    if plan.virtual_pipeline > 1 and plan.pipeline == 1:
        raise SpecError(
            key="job.parallel.virtual_pipeline",
            what=f"{plan.virtual_pipeline} needs pipeline of 2 or more",
            remedy="leave it out",
        )
    if plan.virtual_pipeline > 1 and plan.schedule == "zero-bubble":
        raise SpecError(
            key="job.parallel.schedule",
            what=f"zero-bubble has no chunks, but virtual_pipeline is {plan.virtual_pipeline}",
            remedy="leave one of the two out",
        )
    if plan.stage_gpus % plan.expert:
        raise SpecError(
            key="job.parallel.expert",
            what=(
                f"{plan.expert} does not divide tensor {plan.tensor} x context "
                f"{plan.context} x data {plan.data} = {plan.stage_gpus:,}, the GPUs of one "
                "pipeline stage"
            ),
            remedy=f"use one of {_divisors(plan.stage_gpus, plan.expert)}",
        )
    if plan.stage_gpus % plan.expert_ranks:
        raise SpecError(
            key="job.parallel.expert_tensor",
            what=(
                f"expert {plan.expert} x expert_tensor {plan.expert_split} does not divide the "
                f"{plan.stage_gpus:,} GPUs of one pipeline stage"
            ),
            remedy=f"use one of {_divisors(plan.stage_gpus // plan.expert, plan.expert_split)}",
        )
    folded = plan.expert > 1 or plan.expert_split != plan.tensor
    if folded and plan.tensor > 1 and not parallel.sequence_parallel:
        raise SpecError(
            key="job.parallel.sequence_parallel",
            what=(
                "experts beside tensor parallelism need it, or every tensor rank would "
                "send the same tokens"
            ),
            remedy="set it to true",
        )


def _divides(field: str, degree: int, count: int, of_what: str) -> None:
    if count % degree:
        raise SpecError(
            key=f"job.parallel.{field}",
            what=f"{degree} does not divide the {count:,} {of_what}",
            remedy=f"use one of {_divisors(count, degree)}",
        )


def _divisors(count: int, near: int) -> str:
    candidates = [d for d in range(1, min(count, 4 * near) + 1) if count % d == 0]
    closest = sorted(sorted(candidates, key=lambda d: abs(d - near))[:4])
    return ", ".join(map(str, closest))
