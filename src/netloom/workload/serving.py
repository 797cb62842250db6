"""What one GPU of a serving instance computes, keeps and sends.

The operators are those of training's forward pass (:mod:`netloom.workload.flops`), with three
differences: weights have the bytes of the serving precision, attention of a decode step reads
the cache of keys and values, and of the experts only those that some token chose are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.workload.collective import Axis, Collective, CollectiveKind, Group
from netloom.workload.communication import Communication, Window
from netloom.workload.demand import dispatched_share
from netloom.workload.flops import (
    ACTIVATION_BYTES,
    Operator,
    Shard,
    embedding_operators,
    head_operators,
    layer_operators,
)
from netloom.workload.hybrid.linear_attention import recurrent_bytes
from netloom.workload.operator import expert_load
from netloom.workload.placement import axis_groups, pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = [
    "CACHE_BYTES",
    "Pass",
    "cache_bytes_of_rank",
    "cache_bytes_per_token",
    "cache_transfer",
    "end_communications",
    "first_operators",
    "hop",
    "last_operators",
    "layer_communications",
    "request_bytes_of_rank",
    "serving_operators",
]

# Keys and values are kept in 16 bits, whatever the weights are: vLLM's kv_cache_dtype "auto"
# with a bf16 model (recalled).
CACHE_BYTES: Final = 2
# Up to as many rows a product was measured to follow the plain roofline: one H200, PyTorch 2.11,
# CUDA graphs (docs/models/serving.md).
FEW_ROWS: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One forward pass of one copy of the attention.

    Attributes:
        requests: At the same time.
        tokens: New ones of each request: the prompt, or one in a decode step.
        context: Tokens that the last of them looks at.
        weight_bytes: Of one weight of the layers.
    """

    requests: int
    tokens: int
    context: float
    weight_bytes: int

    @property
    def is_decode(self) -> bool:
        """Whether one token is added to a longer context."""
        return self.tokens == 1 and self.context > 1

    def shard(self, plan: Layout) -> Shard:
        """Return one GPU's share of the pass."""
        return Shard(
            micro_batch=self.requests,
            sequence=self.tokens,
            tensor=plan.tensor,
            expert=plan.expert,
            expert_tensor=plan.expert_tensor,
            sequence_parallel=plan.sequence_parallel,
        )


def cache_bytes_per_token(shape: Transformer) -> float:
    """Return what one token leaves in the cache, all layers and heads, kept once."""
    return CACHE_BYTES * shape.num_attention_layers * _cached_width(shape, 1)


def cache_bytes_of_rank(shape: Transformer, tensor: int) -> float:
    """Return what one token leaves in one layer's cache on one of *tensor* ranks.

    A rank keeps at least one head of keys and values; what MLA compresses to has no heads and is
    kept whole on every rank (DeepSeek-V2, arXiv:2405.04434, section 2.1.2).
    """
    return CACHE_BYTES * _cached_width(shape, tensor)


def request_bytes_of_rank(shape: Transformer, tensor: int, *, length: float) -> float:
    """Return what a request of *length* tokens keeps in a layer on one of *tensor* ranks.

    The mean of layers with a cache, and of those whose state does not grow.
    """
    model = shape.model
    kept = shape.num_attention_layers * length * cache_bytes_of_rank(shape, tensor)
    if model.linear is not None:
        kept += shape.num_linear_layers * recurrent_bytes(model.linear) / tensor
    return kept / model.num_layers


def _cached_width(shape: Transformer, tensor: int) -> float:
    if shape.is_mla:
        return float(shape.model.kv_rank + shape.model.rope_head_dim)
    return shape.kv_width_of_rank(tensor)


def serving_operators(
    shape: Transformer, plan: Layout, work: Pass, *, moe: bool
) -> tuple[Operator, ...]:
    """Return the operators of one layer, in order."""
    operators = layer_operators(shape, work.shard(plan), moe=moe)
    return tuple(_served(one, shape, plan, work) for one in operators)


def first_operators(shape: Transformer, plan: Layout, work: Pass) -> tuple[Operator, ...]:
    """Return the look-up of the new tokens."""
    return embedding_operators(shape, work.shard(plan))


def last_operators(shape: Transformer, plan: Layout, work: Pass) -> tuple[Operator, ...]:
    """Return the last norm and the logits of each request's last token; there is no loss.

    The output matrix stays in 16 bits, and choosing the token is not counted.
    """
    last = replace(work, tokens=1, weight_bytes=ACTIVATION_BYTES)
    norm, logits, _ = head_operators(shape, last.shard(plan))
    return norm, _product(logits, last)


def _served(operator: Operator, shape: Transformer, plan: Layout, work: Pass) -> Operator:
    if operator.core_attention and work.is_decode:
        return _cached_attention(operator, shape, plan, work)
    if operator.kind == "scan" and work.is_decode:
        return _next_state(operator, shape, plan, work)
    if operator.kind != "matmul":
        return operator
    if operator.name.startswith("experts"):
        return _expert_product(operator, shape, plan, work)
    return _product(operator, work)


def _product(operator: Operator, work: Pass) -> Operator:
    """Return a product that reads weights of the serving precision."""
    assert operator.shape is not None
    rows, columns, inner = operator.shape
    size_bytes = ACTIVATION_BYTES * rows * (columns + inner) + work.weight_bytes * columns * inner
    return _streamed(replace(operator, size_bytes=size_bytes), work)


def _streamed(operator: Operator, work: Pass) -> Operator:
    """Return a product without its shape where it streams its weights past a few rows.

    Tiles, which large products are timed by, do not decide there; the roofline alone does.
    """
    few = work.tokens == 1 or (operator.shape is not None and operator.shape[0] <= FEW_ROWS)
    return replace(operator, shape=None) if few else operator


def _expert_product(operator: Operator, shape: Transformer, plan: Layout, work: Pass) -> Operator:
    """Return the product of the experts on one GPU, reading those that some token chose."""
    model, shard = shape.model, work.shard(plan)
    width = model.expert_hidden / plan.expert_split
    ways = shape.num_ffn_matrices - 1 if operator.name.endswith(" in") else 1
    weights = ways * width * shape.expert_input
    local = model.num_experts / plan.expert
    moved = operator.size_bytes - ACTIVATION_BYTES * local * weights
    read = experts_read(shape, tokens=shard.split_tokens, num_ranks=plan.expert)
    size_bytes = moved + work.weight_bytes * read * weights
    return replace(operator, size_bytes=size_bytes, shape=None, num=1)


def experts_read(shape: Transformer, *, tokens: float, num_ranks: int) -> float:
    """Return the experts of the busiest rank that some token chose, for a balanced router.

    Each of the group's tokens leaves an expert alone with probability 1 - chosen/experts.

    Args:
        shape: The model.
        tokens: Of one rank; all ranks have as many.
        num_ranks: That the experts are spread over.
    """
    model = shape.model
    local = model.num_experts / num_ranks
    idle = math.pow(1 - model.experts_per_token / model.num_experts, tokens * num_ranks)
    sent = tokens * num_ranks * model.experts_per_token
    return min(local, local * (1 - idle) * expert_load(sent, num_ranks))


def _cached_attention(operator: Operator, shape: Transformer, plan: Layout, work: Pass) -> Operator:
    """Return the attention of one new token of each request over its cache.

    MLA multiplies in the compressed space, every head with the same cache: the matrices that
    expand keys and values are applied to the query and the output instead (DeepSeek-V2,
    arXiv:2405.04434, section 2.1.2); their cost is that of "key-value up".
    """
    model = shape.model
    heads = model.num_heads / plan.tensor
    pairs = work.requests * work.context * heads
    if shape.is_mla:
        width = 2 * model.kv_rank + model.rope_head_dim
    else:
        width = shape.query_head_dim + shape.value_head_dim
    cache_bytes = work.requests * work.context * cache_bytes_of_rank(shape, plan.tensor)
    return replace(
        operator,
        flops=2.0 * pairs * width,
        size_bytes=operator.size_bytes + cache_bytes,
        sequence=int(work.context),
    )


def _next_state(operator: Operator, shape: Transformer, plan: Layout, work: Pass) -> Operator:
    """Return the step of each request's state by one token: read, changed and written."""
    mixer = shape.model.linear
    assert mixer is not None
    each = work.requests / plan.tensor
    return replace(
        operator,
        flops=each * mixer.needed_flops_per_token,
        size_bytes=2 * each * recurrent_bytes(mixer),
        launches=1,
    )


def layer_communications(
    shape: Transformer, plan: Layout, work: Pass, *, moe: bool
) -> tuple[Communication, ...]:
    """Return the collectives of one layer.

    Two sums over the tensor ranks (Shoeybi et al. 2019, arXiv:1909.08053, section 3), as
    reduce-scatter and all-gather where experts beside them need divided tokens; and tokens to
    their experts and back.
    """
    shard = work.shard(plan)
    tensor = axis_groups(plan)[Axis.TENSOR]
    size_bytes = ACTIVATION_BYTES * shard.tokens * shape.model.hidden
    kinds = (
        (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER)
        if plan.sequence_parallel
        else (CollectiveKind.ALL_REDUCE,)
    )
    asked = [
        _item(
            Axis.TENSOR,
            "activations of a layer",
            Collective(kind=kind, size_bytes=size_bytes, group=tensor),
            shape.num_halves,
        )
        for kind in kinds
    ]
    if moe:
        asked += _exchanges(shape, plan, work)
    return _among_several(asked)


def _exchanges(shape: Transformer, plan: Layout, work: Pass) -> list[Communication]:
    """Return the way to the experts and back.

    DeepEP sends tokens there in the weights' bits and back in 16; where it reads prompts once to
    a node, as in training, and in a decode step, whose kernels are for little delay, once to each
    expert (deepseek-ai/DeepEP README).
    """
    sent = work.shard(plan).split_tokens * shape.model.experts_per_token
    deepep = plan.expert_dispatch == "deepep"
    copies = sent * (dispatched_share(shape, plan) if deepep and not work.is_decode else 1.0)
    there = work.weight_bytes if deepep else ACTIVATION_BYTES
    return [
        _item(
            Axis.EXPERT,
            purpose,
            Collective(
                kind=CollectiveKind.ALL_TO_ALL,
                size_bytes=each_bytes * copies * shape.expert_input,
                group=axis_groups(plan)[Axis.EXPERT],
                skew=expert_load(sent * plan.expert, plan.expert),
            ),
            1,
        )
        for purpose, each_bytes in (
            ("tokens to their experts", there),
            ("tokens from their experts", ACTIVATION_BYTES),
        )
    ]


def end_communications(
    shape: Transformer, plan: Layout, work: Pass, *, last: bool
) -> tuple[Communication, ...]:
    """Return the sum after the divided embedding, or the gather of the divided logits."""
    group = axis_groups(plan)[Axis.TENSOR]
    if last:
        size_bytes = ACTIVATION_BYTES * work.requests * shape.model.vocabulary
        purpose, kind = "logits", CollectiveKind.ALL_GATHER
    else:
        size_bytes = ACTIVATION_BYTES * work.requests * work.tokens * shape.model.hidden
        purpose, kind = "embedding", CollectiveKind.ALL_REDUCE
    what = Collective(kind=kind, size_bytes=size_bytes, group=group)
    return _among_several([_item(Axis.TENSOR, purpose, what, 1)])


def hop(shape: Transformer, plan: Layout, work: Pass) -> tuple[Communication, ...]:
    """Return the activations to the next stage; each tensor rank sends its share."""
    size_bytes = ACTIVATION_BYTES * work.requests * work.tokens * shape.model.hidden / plan.tensor
    group = axis_groups(plan)[Axis.PIPELINE]
    if group.size == 1:
        return ()
    what = Collective(kind=CollectiveKind.SEND_RECV, size_bytes=size_bytes, group=pair(group))
    return (_item(Axis.PIPELINE, "activations to the next stage", what, 1),)


def cache_transfer(
    shape: Transformer, prompt: int, sender: Layout, receiver: Layout, *, num_nodes: int
) -> Collective:
    """Return one layer's keys and values of one prompt, from an instance to another.

    Each GPU sends or receives its own heads; where the two instances divide them differently
    the one with more to move decides. All GPUs of a node are taken to send at the same time,
    to a node half the cluster away.
    """
    tensor = min(sender.tensor, receiver.tensor)
    size_bytes = request_bytes_of_rank(shape, tensor, length=prompt)
    inside = Group(size=2, per_node=2, active_per_node=sender.gpus_per_node)
    apart = Group(
        size=2,
        per_node=1,
        node_stride=max(1, num_nodes // 2),
        active_per_node=sender.gpus_per_node,
        displaced=sender.displaced,
        span_nodes=num_nodes,
    )
    group = apart if num_nodes > 1 else inside
    return Collective(kind=CollectiveKind.SEND_RECV, size_bytes=size_bytes, group=group)


def _item(axis: Axis, purpose: str, collective: Collective, each: int) -> Communication:
    return Communication(
        axis=axis,
        purpose=purpose,
        phase="forward",
        collective=collective,
        each=each,
        per="moe-layer" if axis is Axis.EXPERT else "layer",
        window=Window.NONE,
        count=each,
    )


def _among_several(items: Iterable[Communication]) -> tuple[Communication, ...]:
    return tuple(item for item in items if item.collective.group.size > 1)
