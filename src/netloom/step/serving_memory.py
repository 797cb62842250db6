"""What one GPU of a serving instance holds, and whether it fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError
from netloom.step.memory import RESERVED_BYTES
from netloom.units import SIZE, format_quantity
from netloom.workload.flops import ACTIVATION_BYTES
from netloom.workload.parameters import embedding_parameters
from netloom.workload.placement import stage_layers
from netloom.workload.serving import request_bytes_of_rank
from netloom.workload.sharding import stage_parameters

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["ServingMemory", "check_serving_memory", "serving_memory"]

# Activations of a layer that live at the same time, in widths of the residual stream: the stream,
# the norm's output, the block's output and the buffer of its sum. Assumed.
LIVE_STREAMS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMemory:
    """What one GPU holds, on the fullest stage.

    Attributes:
        cache_bytes: Keys and values of all requests at their full length.
        activations_bytes: Of the longest pass, while it runs.
        reserved_bytes: Context, communication buffers, the allocator's slack.
        max_requests: Of an instance, that would fit.
    """

    weights_bytes: float
    cache_bytes: float
    activations_bytes: float
    reserved_bytes: float
    capacity_bytes: float
    max_requests: int

    @property
    def total_bytes(self) -> float:
        """Everything together."""
        return self.weights_bytes + self.cache_bytes + self.activations_bytes + self.reserved_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What an instance has to hold besides its weights.

    Attributes:
        requests: Whose keys and values an instance keeps, all at full length.
        length: Tokens of one request at most.
        tokens: Of one copy's longest pass.
        step: Requests come in multiples of this.
    """

    requests: int
    length: int
    tokens: int
    step: int
    weight_bytes: int


def serving_memory(shape: Transformer, plan: Layout, load: Load, *, gpu: Gpu) -> ServingMemory:
    """Return what one GPU of the fullest stage holds."""
    stages = {0, plan.pipeline // 2, plan.pipeline - 1}
    held = [_stage(shape, plan, load, stage=stage, gpu=gpu) for stage in sorted(stages)]
    fullest = max(held, key=lambda one: one.total_bytes)
    return ServingMemory(
        weights_bytes=fullest.weights_bytes,
        cache_bytes=fullest.cache_bytes,
        activations_bytes=fullest.activations_bytes,
        reserved_bytes=fullest.reserved_bytes,
        capacity_bytes=fullest.capacity_bytes,
        max_requests=min(one.max_requests for one in held),
    )


def check_serving_memory(
    shape: Transformer, plan: Layout, load: Load, *, gpu: Gpu, where: str
) -> ServingMemory:
    """Return :func:`serving_memory`.

    Raises:
        InfeasibleError: it does not fit; the message says how many requests would.
    """
    held = serving_memory(shape, plan, load, gpu=gpu)
    if held.total_bytes <= held.capacity_bytes:
        return held
    needs = (
        f"{load.requests:,} requests of up to {load.length:,} tokens need "
        f"{_show(held.total_bytes)} on a GPU (weights {_show(held.weights_bytes)}, keys and values "
        f"{_show(held.cache_bytes)}, activations {_show(held.activations_bytes)}, reserved "
        f"{_show(held.reserved_bytes)}), but {gpu.name} has {_show(held.capacity_bytes)}"
    )
    most = held.max_requests
    fits = f"{most:,} requests fit" if most else "not even the fewest requests fit"
    lower = "lower the batch" if where == "serving.batch" else "shorten the prompt"
    remedy = f"{fits}: {lower}, or raise tensor or pipeline"
    raise InfeasibleError(key=where, what=needs, remedy=remedy)


def _stage(shape: Transformer, plan: Layout, load: Load, *, stage: int, gpu: Gpu) -> ServingMemory:
    layers = stage_layers(shape.model.num_layers, plan.pipeline)[stage]
    one_bytes = layers * request_bytes_of_rank(shape, plan.tensor, length=load.length)
    weights_bytes = _weights_bytes(shape, plan, load.weight_bytes, stage=stage)
    activations_bytes = _activations_bytes(shape, plan, load.tokens)
    fixed_bytes = weights_bytes + activations_bytes + RESERVED_BYTES
    room = (gpu.memory_bytes - fixed_bytes) / (one_bytes * load.step / plan.data)
    return ServingMemory(
        weights_bytes=weights_bytes,
        cache_bytes=load.requests / plan.data * one_bytes,
        activations_bytes=activations_bytes,
        reserved_bytes=RESERVED_BYTES,
        capacity_bytes=gpu.memory_bytes,
        max_requests=max(0, math.floor(room)) * load.step,
    )


def _weights_bytes(shape: Transformer, plan: Layout, each_bytes: int, *, stage: int) -> float:
    """Return the weights; embedding and output matrix stay in 16 bits."""
    held = stage_parameters(shape, plan, stage=stage)
    matrix = shape.model.vocabulary * shape.model.hidden
    first, last = stage == 0, stage == plan.pipeline - 1
    shared = shape.model.tied_embeddings and first
    ends = (embedding_parameters(shape) if first else 0) + (matrix if last and not shared else 0)
    wider = (ACTIVATION_BYTES - each_bytes) * ends / plan.tensor
    return each_bytes * (held.dense + held.experts) + wider


def _activations_bytes(shape: Transformer, plan: Layout, tokens: int) -> float:
    """Return what one layer's pass holds at its widest."""
    model = shape.model
    heads = shape.query_width / plan.tensor + shape.kv_width_of_rank(plan.tensor)
    block = shape.num_ffn_matrices * model.ffn_hidden / plan.tensor
    if shape.num_moe_layers:
        inner = shape.num_ffn_matrices * model.expert_hidden / plan.expert_split
        routed = model.experts_per_token * (2 * shape.expert_input + inner)
        block = max(block, routed / (plan.tensor if plan.sequence_parallel else 1))
    state = 0.0 if model.linear is None else model.linear.projected / plan.tensor
    return ACTIVATION_BYTES * tokens * (LIVE_STREAMS * model.hidden + max(heads, block, state))


def _show(size_bytes: float) -> str:
    return format_quantity(size_bytes, SIZE)
