"""Every distinct collective of one training step, how often it runs, and what may hide it.

The counts are those of one GPU on the fullest pipeline stage. Sizes follow
:class:`~netloom.workload.collective.Collective`: the whole vector, not one rank's share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from netloom.spec.precision import product_bytes
from netloom.workload.collective import Axis, Collective, CollectiveKind
from netloom.workload.communication import Communication, Per, Phase, Window
from netloom.workload.diffusion import text_rows
from netloom.workload.flops import ACTIVATION_BYTES, Shard
from netloom.workload.placement import axis_group, pair, stage_layers
from netloom.workload.recomputation import repeated_traffic
from netloom.workload.sharding import PLAIN_WEIGHTS, data_communications, stage_dense_layers

if TYPE_CHECKING:
    from netloom.spec.scenario import Training
    from netloom.workload.placement import Layout
    from netloom.workload.recomputation import Modules
    from netloom.workload.sharding import WeightFormat
    from netloom.workload.transformer import Transformer

__all__ = [
    "MICRO_BATCH_AXES",
    "Demand",
    "MicroBatchAxis",
    "axis_communications",
    "demand",
    "micro_batch_communications",
    "shard_of",
]

# The axes on which every micro-batch communicates; copies of the weights do so once a step.
MicroBatchAxis: TypeAlias = Literal[Axis.TENSOR, Axis.CONTEXT, Axis.EXPERT, Axis.PIPELINE]
MICRO_BATCH_AXES: Final[tuple[MicroBatchAxis, ...]] = (
    Axis.TENSOR,
    Axis.CONTEXT,
    Axis.EXPERT,
    Axis.PIPELINE,
)

# DeepSeek-V3 sends a token to at most 4 nodes (arXiv:2412.19437, section 4.2).
MOST_NODES: Final = 4

_BETWEEN_STAGES: tuple[tuple[Phase, str, str], ...] = (
    ("forward", "activations", "next"),
    ("backward", "gradients", "previous"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one step asks of the network.

    Attributes:
        num_micro_batches: Of one data-parallel rank.
        num_layers: Of the fullest stage, or of the one asked for.
        num_moe_layers: Of these, layers with experts.
    """

    communications: tuple[Communication, ...]
    num_micro_batches: int
    num_layers: int
    num_moe_layers: int

    def on(self, axis: Axis) -> tuple[Communication, ...]:
        """Return the communications of *axis*."""
        return tuple(item for item in self.communications if item.axis is axis)


def demand(  # noqa: PLR0913  (model, plan and training, and what the software makes of them)
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    num_micro_batches: int,
    stage: int | None = None,
    weights: WeightFormat = PLAIN_WEIGHTS,
    modules: Modules = None,
) -> Demand:
    """Return every collective of one step.

    Args:
        shape: Of the model.
        plan: How it is divided.
        training: Batch, precision and recomputation.
        num_micro_batches: Of one data-parallel rank.
        stage: Of one pipeline stage instead of the fullest; transfers between stages are counted
            as those of an inner stage.
        weights: How the software keeps weights and gradients.
        modules: What the software computes again, in place of the training's recomputation.
    """
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    if stage is None:
        layers = max(counts)
        moe = shape.most_moe_layers(layers)
    else:
        layers = counts[stage]
        moe = layers - stage_dense_layers(shape, counts, stage)
    units: dict[Per, int] = {
        "layer": num_micro_batches * layers,
        "moe-layer": num_micro_batches * moe,
        "chunk": num_micro_batches * plan.virtual_pipeline,
        "step": 1,
    }
    asked = (
        *micro_batch_communications(shape, plan, training, modules),
        *data_communications(shape, plan, training, stage=stage, weights=weights),
    )
    return Demand(
        communications=tuple(
            replace(item, count=item.each * units[item.per])
            for item in asked
            if item.collective.group.size > 1
        ),
        num_micro_batches=num_micro_batches,
        num_layers=layers,
        num_moe_layers=moe,
    )


def micro_batch_communications(
    shape: Transformer, plan: Layout, training: Training, modules: Modules = None
) -> tuple[Communication, ...]:
    """Return what each micro-batch asks for; none of it depends on ZeRO or virtual stages."""
    return tuple(
        item
        for axis in MICRO_BATCH_AXES
        for item in axis_communications(axis, shape, plan, training, modules)
    )


def axis_communications(
    axis: MicroBatchAxis,
    shape: Transformer,
    plan: Layout,
    training: Training,
    modules: Modules = None,
) -> list[Communication]:
    """Return what each micro-batch asks for on one axis."""
    shard = shard_of(plan, training)
    again = repeated_traffic(shape, training.recompute, modules)
    match axis:
        case Axis.TENSOR:
            return _tensor(shape, plan, shard, training, num_again=again.blocks)
        case Axis.CONTEXT:
            return _context(shape, plan, shard, _phases(again=again.attention))
        case Axis.EXPERT:
            return _expert(shape, plan, shard, _phases(again=again.experts))
        case Axis.PIPELINE:
            return _pipeline(shape, plan, shard)


def shard_of(plan: Layout, training: Training) -> Shard:
    """Return one GPU's share of a micro-batch, with fused attention."""
    return Shard(
        micro_batch=training.micro_batch,
        sequence=training.sequence,
        tensor=plan.tensor,
        context=plan.context,
        expert=plan.expert,
        sequence_parallel=plan.sequence_parallel,
        router_imbalance=training.router_imbalance,
        expert_capacity=training.expert_capacity,
        tuning=training.tuning,
        span=training.packed_sequence,
        encodes=training.sample is not None and training.sample.encode,
    )


def _phases(*, again: bool) -> tuple[Phase, ...]:
    return ("forward", "backward", "recompute") if again else ("forward", "backward")


def _tensor(
    shape: Transformer, plan: Layout, shard: Shard, training: Training, *, num_again: int
) -> list[Communication]:
    """Return the tensor-parallel collectives of a layer.

    Without sequence parallelism two all-reduces each way (Shoeybi et al. 2019,
    arXiv:1909.08053, section 3); with it an all-gather and a reduce-scatter in place of each,
    and backward gathers each block's input once more for the weight gradient, beside the input
    gradient's product (Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.2); a frozen block
    without low-rank matrices needs it not. What fp8 products gather is cast first (Transformer
    Engine, gather_along_first_dim).
    """
    if plan.tensor == 1:
        return []
    rows = shard.tokens
    if shape.model.diffusion is not None and shape.model.diffusion.kind == "mmdit":
        rows += text_rows(shape, shard)
    size = ACTIVATION_BYTES * rows * shape.model.hidden
    gathered = size * product_bytes(training.precision) / ACTIVATION_BYTES
    group = axis_group(plan, Axis.TENSOR)

    def between_halves(
        phase: Phase, kind: CollectiveKind, window: Window, each: int = shape.num_halves
    ) -> Communication:
        return Communication(
            axis=Axis.TENSOR,
            purpose=f"activations of a layer, {phase}",
            phase=phase,
            collective=Collective(
                kind=kind,
                size_bytes=gathered if kind is CollectiveKind.ALL_GATHER else size,
                group=group,
            ),
            each=num_again if phase == "recompute" else each,
            per="layer",
            window=window,
        )

    phases = _phases(again=num_again > 0)
    thin = _low_rank(plan, shard, phases)
    if not plan.sequence_parallel:
        reduce = CollectiveKind.ALL_REDUCE
        return [between_halves(phase, reduce, Window.NONE) for phase in phases] + thin
    gather, scatter = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
    both = [
        between_halves(phase, kind, Window.TENSOR) for phase in phases for kind in (gather, scatter)
    ]
    tuning = training.tuning
    again = shape.num_halves
    if tuning.is_low_rank:
        again = tuning.adapts("linear_qkv") + tuning.adapts("linear_fc1")
    if again:
        both.append(between_halves("backward", gather, Window.PRODUCT, again))
    return both + thin


def _low_rank(plan: Layout, shard: Shard, phases: tuple[Phase, ...]) -> list[Communication]:
    """Return what passes between the two low-rank matrices, which tensor ranks divide.

    One exchange for each adapted matrix (Megatron-Bridge peft, ParallelLinearAdapter).
    """
    num = len(shard.tuning.adapted)
    if not num:
        return []
    collective = Collective(
        kind=CollectiveKind.ALL_GATHER,
        size_bytes=ACTIVATION_BYTES * shard.tokens * shard.tuning.rank,
        group=axis_group(plan, Axis.TENSOR),
    )
    return [
        Communication(
            axis=Axis.TENSOR,
            purpose=f"low-rank activations of a layer, {phase}",
            phase=phase,
            collective=collective,
            each=num,
            per="layer",
            window=Window.NONE,
        )
        for phase in phases
    ]


def _context(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    """Return the exchange of keys and values between context ranks.

    Around a ring each rank passes its block on context - 1 times, backward also the gradients
    (Ring Attention, arXiv:2310.01889). Or all are gathered before the attention of the own
    queries, and backward the gradients are summed and scattered (Llama 3, arXiv:2407.21783,
    section 3.3.2); then nothing hides it.
    """
    if plan.context == 1:
        return []
    if plan.context_exchange == "all-gather":
        return _gathered_context(shape, plan, shard, phases)
    block = Collective(
        kind=CollectiveKind.SEND_RECV,
        size_bytes=ACTIVATION_BYTES * shard.tokens * shape.kv_width_of_rank(plan.tensor),
        group=pair(axis_group(plan, Axis.CONTEXT)),
    )
    return [
        Communication(
            axis=Axis.CONTEXT,
            purpose=f"keys and values around the ring, {phase}",
            phase=phase,
            collective=block,
            each=(2 if phase == "backward" else 1) * (plan.context - 1),
            per="layer",
            window=Window.ATTENTION,
        )
        for phase in phases
    ]


def _gathered_context(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    size_bytes = ACTIVATION_BYTES * shard.tokens * shape.kv_width_of_rank(plan.tensor)

    def exchange(kind: CollectiveKind, phase: Phase, what: str) -> Communication:
        return Communication(
            axis=Axis.CONTEXT,
            purpose=f"{what} of all context ranks, {phase}",
            phase=phase,
            collective=Collective(
                kind=kind,
                size_bytes=size_bytes * plan.context,
                group=axis_group(plan, Axis.CONTEXT),
            ),
            each=1,
            per="layer",
            window=Window.NONE,
        )

    gathers = [exchange(CollectiveKind.ALL_GATHER, phase, "keys and values") for phase in phases]
    scatter = exchange(CollectiveKind.REDUCE_SCATTER, "backward", "gradients of keys and values")
    return [*gathers, scatter]


def _expert(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    """Return dispatch and combine of a MoE layer, each way."""
    if not shape.num_moe_layers or plan.expert == 1:
        return []
    if plan.expert_dispatch == "all-gather":
        return _gathered_tokens(shape, plan, shard, phases)
    group = axis_group(plan, Axis.EXPERT)
    sent = shard.split_tokens * shape.model.experts_per_token
    copies = sent
    if plan.expert_dispatch in {"deepep", "hybridep"}:
        most = MOST_NODES if shape.model.grouped_router else group.num_nodes
        copies *= once_per_node(shape.model.experts_per_token, group.num_nodes, most=most)
    exchange = Collective(
        kind=CollectiveKind.ALL_TO_ALL,
        size_bytes=ACTIVATION_BYTES * copies * shape.model.hidden,
        group=group,
        skew=shard.expert_load(sent * plan.expert),
    )
    return [
        Communication(
            axis=Axis.EXPERT,
            purpose=f"tokens to their experts and back, {phase}",
            phase=phase,
            collective=exchange,
            each=2,
            per="moe-layer",
            window=Window.LAYER if plan.expert_overlap else Window.NONE,
        )
        for phase in phases
    ]


def _gathered_tokens(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    """Return all tokens gathered on every expert rank, and what experts made of them summed.

    Megatron-Core's MoEAllGatherTokenDispatcher; backward the two change places.
    """
    size_bytes = ACTIVATION_BYTES * shard.split_tokens * plan.expert * shape.model.hidden
    group = axis_group(plan, Axis.EXPERT)
    kinds = (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)
    return [
        Communication(
            axis=Axis.EXPERT,
            purpose=f"tokens of all expert ranks, {kind.value}, {phase}",
            phase=phase,
            collective=Collective(kind=kind, size_bytes=size_bytes, group=group),
            each=1,
            per="moe-layer",
            window=Window.LAYER if plan.expert_overlap else Window.NONE,
        )
        for phase in phases
        for kind in kinds
    ]


def once_per_node(num_chosen: int, num_nodes: int, *, most: int | None = None) -> float:
    """Return the copies of a token that leave its node over those of one for each expert.

    A token's experts are on n (1 - (1 - 1/n)^k) different nodes when each of its k is equally
    likely on every of n. DeepEP sends it once to each (deepseek-ai/DeepEP README, kernels with
    NVLink and RDMA forwarding; arXiv:2412.19437, section 3.2.2). What the node then hands on over
    its scale-up network, several times faster, is not counted. In one node nothing changes. A
    router that first chooses groups keeps a token to the experts of *most* nodes.
    """
    if num_nodes == 1:
        return 1.0
    open_to = min(num_nodes, most or num_nodes)
    reached = open_to * (1 - (1 - 1 / open_to) ** num_chosen)
    return reached / num_chosen


def _pipeline(shape: Transformer, plan: Layout, shard: Shard) -> list[Communication]:
    """Return the activations forward and gradients backward between stages.

    With tensor parallelism each rank sends its 1/tensor: sequence parallelism leaves it so, and
    without it Megatron scatters and gathers (Narayanan et al. 2021, arXiv:2104.04473, 4.1).
    """
    if plan.pipeline == 1:
        return []
    message = Collective(
        kind=CollectiveKind.SEND_RECV,
        size_bytes=ACTIVATION_BYTES * shard.tokens * shape.model.hidden / plan.tensor,
        group=pair(axis_group(plan, Axis.PIPELINE)),
    )
    return [
        Communication(
            axis=Axis.PIPELINE,
            purpose=f"{what} to the {whom} stage",
            phase=phase,
            collective=message,
            each=1,
            per="chunk",
            window=Window.OTHER_MICRO_BATCH,
        )
        for phase, what, whom in _BETWEEN_STAGES
    ]
