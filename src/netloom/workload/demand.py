"""Every distinct collective of one training step, how often it runs, and what may hide it.

The counts are those of one GPU on the fullest pipeline stage. Sizes follow
:class:`~netloom.workload.collective.Collective`: the whole vector, not one rank's share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from netloom.spec.precision import product_bytes
from netloom.workload.collective import Axis, Collective, CollectiveKind
from netloom.workload.communication import Communication, Per, Phase, Window
from netloom.workload.diffusion import text_rows
from netloom.workload.flops import ACTIVATION_BYTES, Shard
from netloom.workload.placement import (
    axis_group,
    expert_ranks_group,
    expert_tensor_group,
    pair,
    stage_layers,
)
from netloom.workload.recomputation import repeated_traffic
from netloom.workload.sharding import PLAIN_WEIGHTS, data_communications, stage_dense_layers

if TYPE_CHECKING:
    from netloom.spec.scenario import RouterChoice, Training
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
    repeats_keys: bool = False,
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
        repeats_keys: Whether context ranks exchange keys and values copied to every query head.
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
        "dense-layer": num_micro_batches * (layers - moe),
        "chunk": num_micro_batches * plan.virtual_pipeline,
        "group": max(0, math.ceil(num_micro_batches / plan.pipeline) - 1),
        "step": 1,
    }
    asked = (
        *micro_batch_communications(shape, plan, training, modules, repeats_keys=repeats_keys),
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
    shape: Transformer,
    plan: Layout,
    training: Training,
    modules: Modules = None,
    *,
    repeats_keys: bool = False,
) -> tuple[Communication, ...]:
    """Return what each micro-batch asks for; none of it depends on ZeRO or virtual stages."""
    return tuple(
        item
        for axis in MICRO_BATCH_AXES
        for item in axis_communications(
            axis, shape, plan, training, modules, repeats_keys=repeats_keys
        )
    )


def axis_communications(
    axis: MicroBatchAxis,
    shape: Transformer,
    plan: Layout,
    training: Training,
    modules: Modules = None,
    *,
    repeats_keys: bool = False,
) -> list[Communication]:
    """Return what each micro-batch asks for on one axis."""
    shard = shard_of(plan, training)
    again = repeated_traffic(shape, training.recompute, modules)
    match axis:
        case Axis.TENSOR:
            return _tensor(shape, plan, shard, training, num_again=again.blocks)
        case Axis.CONTEXT:
            phases = _phases(again=again.attention)
            return _context(shape, plan, shard, phases, repeats_keys=repeats_keys)
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
        expert_tensor=plan.expert_tensor,
        sequence_parallel=plan.sequence_parallel,
        router_imbalance=training.router_imbalance,
        router_choice=training.router_choice,
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
    ) -> list[Communication]:
        wanted = num_again if phase == "recompute" else each
        return [
            Communication(
                axis=Axis.TENSOR,
                purpose=f"activations of a layer, {phase}",
                phase=phase,
                collective=Collective(
                    kind=kind,
                    size_bytes=gathered if kind is CollectiveKind.ALL_GATHER else size,
                    group=group,
                ),
                each=count,
                per=per,
                window=window,
            )
            for per, count in _of_kinds(shape, plan, wanted)
            if count
        ]

    phases = _phases(again=num_again > 0)
    thin = _low_rank(plan, shard, phases)
    if not plan.sequence_parallel:
        reduce = CollectiveKind.ALL_REDUCE
        found = [between_halves(phase, reduce, Window.NONE) for phase in phases]
        return [one for items in found for one in items] + thin
    gather, scatter = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
    both = [
        one
        for phase in phases
        for kind in (gather, scatter)
        for one in between_halves(phase, kind, Window.TENSOR)
    ]
    tuning = training.tuning
    again = shape.num_halves
    if tuning.is_low_rank:
        again = tuning.adapts("linear_qkv") + tuning.adapts("linear_fc1")
    if again:
        both += between_halves("backward", gather, Window.PRODUCT, again)
    return both + thin


def _of_kinds(shape: Transformer, plan: Layout, halves: int) -> tuple[tuple[Per, int], ...]:
    """Return how many of a layer's *halves* tensor ranks meet in, by kind of layer.

    Tokens that are divided between tensor ranks go to their experts as they are: of a layer with
    experts only the attention, and experts that all tokens visit, need them together
    (Megatron-Core, MoELayer).
    """
    apart = plan.sequence_parallel and shape.num_moe_layers > 0
    if not apart or shape.model.num_shared_experts:
        return (("layer", halves),)
    every = max(0, halves - 1)
    return (("layer", every), ("dense-layer", halves - every))


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
    shape: Transformer,
    plan: Layout,
    shard: Shard,
    phases: tuple[Phase, ...],
    *,
    repeats_keys: bool,
) -> list[Communication]:
    """Return the exchange of keys and values between context ranks.

    Around a ring each rank passes its block on context - 1 times, backward also the gradients
    (Ring Attention, arXiv:2310.01889). Or all are gathered before the attention of the own
    queries, and backward the gradients are summed and scattered (Llama 3, arXiv:2407.21783,
    section 3.3.2); then nothing hides it.
    """
    if plan.context == 1:
        return []
    beside = _exchanged_heads(shape, plan, shard, phases)
    size_bytes = _keys_bytes(shape, plan, shard, repeated=repeats_keys)
    if plan.context_exchange == "all-gather":
        return _gathered_context(plan, phases, size_bytes) + beside
    block = Collective(
        kind=CollectiveKind.SEND_RECV,
        size_bytes=size_bytes,
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
    ] + beside


def _keys_bytes(shape: Transformer, plan: Layout, shard: Shard, *, repeated: bool) -> float:
    """Return one rank's keys and values of a layer, the mean of layers with attention or not."""
    share = shape.num_attention_layers / shape.model.num_layers
    width = shape.kv_width_of_rank(plan.tensor)
    if repeated:
        heads = shape.model.num_heads / plan.tensor
        width = heads * (shape.query_head_dim + shape.value_head_dim)
    return share * ACTIVATION_BYTES * shard.tokens * width


def _exchanged_heads(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    """Return what layers that pass a state along exchange between context ranks.

    Each rank runs the whole sequence of some heads: an all-to-all of what the first product made,
    and one of the scan's output (Megatron-Core, mamba_context_parallel); backward the same.
    """
    mixer = shape.model.linear
    if mixer is None:
        return []
    share = shape.num_linear_layers / shape.model.num_layers
    return [
        Communication(
            axis=Axis.CONTEXT,
            purpose=f"{what} of layers without attention, {phase}",
            phase=phase,
            collective=Collective(
                kind=CollectiveKind.ALL_TO_ALL,
                size_bytes=share * ACTIVATION_BYTES * shard.tokens * width / plan.tensor,
                group=axis_group(plan, Axis.CONTEXT),
            ),
            each=1,
            per="layer",
            window=Window.NONE,
        )
        for what, width in (("inputs", mixer.projected), ("outputs", mixer.inner))
        for phase in phases
    ]


def _gathered_context(
    plan: Layout, phases: tuple[Phase, ...], size_bytes: float
) -> list[Communication]:

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
    gathers = shard.expert_gathered > 1
    if not shape.num_moe_layers or not (plan.expert > 1 or gathers):
        return []
    if plan.expert_dispatch == "all-gather":
        return _gathered_tokens(shape, plan, shard, phases)
    sent = shard.split_tokens * shape.model.experts_per_token
    if plan.expert_dispatch == "all-to-all":
        group, copies = axis_group(plan, Axis.EXPERT), sent
        beside = _shared_experts(shape, plan, shard, phases) if gathers else []
    else:
        group, beside = expert_ranks_group(plan), []
        copies = sent * dispatched_share(shape, plan, choice=shard.router_choice)
    exchange = Collective(
        kind=CollectiveKind.ALL_TO_ALL,
        size_bytes=ACTIVATION_BYTES * copies * shape.expert_input,
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
    ] + beside


def dispatched_share(shape: Transformer, plan: Layout, *, choice: RouterChoice = "any") -> float:
    """Return what DeepEP and HybridEP send over a copy for each of a token's experts.

    Once to each node. Inside one node DeepEP sends once to each GPU that holds some of them
    (get_dispatch_layout, is_token_in_rank), HybridEP a copy for each: its kernel writes them in
    the experts' order. Neighbours share as few nodes or GPUs as can hold them.
    """
    model, group = shape.model, expert_ranks_group(plan)
    chosen, inside = model.experts_per_token, group.num_nodes == 1
    if inside and plan.expert_dispatch == "hybridep":
        return float(plan.expert_split)
    places = plan.expert if inside else group.num_nodes
    each = float(plan.expert_split) if inside else 1.0
    if choice == "neighbours":
        return each * max(1.0, chosen * places / model.num_experts) / chosen
    most = MOST_NODES if model.grouped_router and not inside else places
    return each * once_per_place(chosen, places, most=most)


def _shared_experts(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    """Return what ranks that share each expert gather before its products and sum after them.

    The tokens at the experts, one for each that a token visits (Megatron-Core,
    MoEAlltoAllTokenDispatcher); backward the two change places.
    """
    sent = shard.split_tokens * shape.model.experts_per_token * plan.expert_split
    load = shard.expert_load(shard.split_tokens * shape.model.experts_per_token * plan.expert)
    return [
        Communication(
            axis=Axis.TENSOR,
            purpose=f"tokens at divided experts, {phase}",
            phase=phase,
            collective=Collective(
                kind=kind,
                size_bytes=ACTIVATION_BYTES * sent * load * shape.expert_input,
                group=expert_tensor_group(plan),
            ),
            each=1,
            per="moe-layer",
            window=Window.NONE,
        )
        for phase in phases
        for kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)
    ]


def _gathered_tokens(
    shape: Transformer, plan: Layout, shard: Shard, phases: tuple[Phase, ...]
) -> list[Communication]:
    """Return all tokens gathered on every expert rank, and what experts made of them summed.

    Megatron-Core's MoEAllGatherTokenDispatcher; backward the two change places.
    """
    size_bytes = ACTIVATION_BYTES * shard.split_tokens * plan.expert_ranks * shape.expert_input
    group = expert_ranks_group(plan)
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


def once_per_place(num_chosen: int, num_nodes: int, *, most: int | None = None) -> float:
    """Return the copies of a token, one to each node that it visits, over one for each expert.

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
