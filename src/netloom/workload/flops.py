"""What one GPU computes for one micro-batch, operator by operator.

Two counts live here. :func:`step_flops` counts what the model needs (causal attention as half
the square, backward twice forward), whatever the hardware does. :class:`Operator` counts what
is executed, with the bytes it moves, for the roofline.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.workload.adapters import adapter_parameters, tuned_operators
from netloom.workload.diffusion import diffusion_operators, encoder_operators, kernel_head_dim
from netloom.workload.hybrid.linear_attention import linear_operators
from netloom.workload.operator import (
    ACTIVATION_BYTES,
    FUSED_BACKWARD,
    AttentionKernel,
    Operator,
    OperatorKind,
    Shard,
)
from netloom.workload.operator import matmul as _matmul
from netloom.workload.operator import norm as _norm
from netloom.workload.operator import pointwise as _pointwise
from netloom.workload.parameters import expert_parameters, layer_parameters

if TYPE_CHECKING:
    from netloom.spec.scenario import Recompute, Training
    from netloom.workload.transformer import Transformer

__all__ = [
    "ACTIVATION_BYTES",
    "AttentionKernel",
    "Operator",
    "OperatorKind",
    "Shard",
    "core_flops_per_token",
    "embedding_operators",
    "forward_flops_per_token",
    "head_operators",
    "latent_up_flops_per_token",
    "layer_operators",
    "recomputed_flops_per_token",
    "step_flops",
]


LOGIT_BYTES = 4  # cross entropy is taken on fp32 logits (Megatron-LM, vocab_parallel_cross_entropy)
# Keys that a fused kernel takes at a time: a window ends inside such a block (FlashAttention-2,
# cuDNN; recalled).
WINDOW_TILE = 128
# Bytes a second, at 4 a value, of kernels that compute an address to each value, whatever the
# memory could: over halves of rows, with a factor to each row, and joining halves (one H200,
# PyTorch 2.11: compute.device, memory_rate and INSTRUCTION_RATES). Taken for every GPU.
STRIDED_RATE = 1.48e12
BROADCAST_RATE = 1.61e12
JOINED_RATE = 0.97e12
# Megatron-Core adds the bias of an expert's output times the token's probability, in fp32, expert
# by expert (TEGroupedMLP._apply_bias, read in public copies): bytes a value, counted kernel by
# kernel. Forward: product written (4); sum (2 + 4 + 4), joined (8), cast (6). Backward: gradients
# of probability and bias, each a product (8) and a sum over it (4); cast (6 + 6).
BIAS_PRODUCT_BYTES, BIAS_PRODUCT_BACKWARD_BYTES = 4, 16
EXPERT_BIAS_BYTES, EXPERT_BIAS_BACKWARD_BYTES = 24, 20
# Clamping both halves of a gated activation's input, which its fused kernel does not do
# (Megatron-Core, weighted_bias_quick_geglu_impl, read in public copies): bytes a value of the
# activation. Forward: clamped (4 + 4), joined (4 + 4); backward: through the clamps (6 + 6),
# joined (4 + 4).
CLAMP_BYTES, CLAMP_BACKWARD_BYTES = 8, 12
JOINED_BYTES = 8


def layer_operators(shape: Transformer, shard: Shard, *, moe: bool) -> tuple[Operator, ...]:
    """Return the operators of one layer, in order."""
    model = shape.model
    if model.diffusion is not None:
        return diffusion_operators(shape, shard)
    residual = _pointwise("residual", shard.split_tokens * model.hidden, passes=_add_passes(shape))
    norm = _norm("norm", shard.split_tokens * model.hidden)
    mixer = _mixer_block(shape, shard, moe=moe)
    block = _moe_block(shape, shard) if moe else _dense_block(shape, shard)
    if model.pattern:  # one or the other, each with its own norm
        return tuned_operators((norm, *mixer, *block, residual), shard.tuning)
    every = (norm, *mixer, residual, norm, *block, residual)
    return tuned_operators(every, shard.tuning)


def _mixer_block(shape: Transformer, shard: Shard, *, moe: bool) -> tuple[Operator, ...]:
    """Return attention, or what stands in its place, each for the layers that have it."""
    mixer = shape.model.linear
    if mixer is None:
        return _attention_block(shape, shard)
    share = shape.attention_share(moe=moe)
    attention = _attention_block(shape, shard) if share else ()
    linear = shape.linear_share(moe=moe)
    others = linear_operators(mixer, shape.model.hidden, shard, share=linear) if linear else ()
    return (*(replace(one, share=share) for one in attention), *others)


def embedding_operators(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    """Return the look-up of the tokens, which moves bytes only, and encoders that run in a step."""
    found = _pointwise("embedding", shard.tokens * shape.model.hidden, passes=2)
    return (found, *encoder_operators(shape, shard))


def head_operators(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    """Return the last norm, the logits and the loss."""
    model = shape.model
    width = model.vocabulary / shard.tensor
    logits = shard.tokens * width
    # Megatron-LM's vocabulary-parallel cross entropy walks over the fp32 logits about four
    # times forward (cast, max, exponential, sum) and twice backward: counted from its source.
    loss = Operator(
        name="cross entropy",
        kind="pointwise",
        flops=0,
        size_bytes=logits * (ACTIVATION_BYTES + 5 * LOGIT_BYTES),
        backward_flops=0,
        backward_bytes=logits * (ACTIVATION_BYTES + 2 * LOGIT_BYTES),
    )
    norm = _norm("last norm", shard.split_tokens * model.hidden)
    every = (norm, _matmul("logits", shard.tokens, width, model.hidden), loss)
    return tuned_operators(every, shard.tuning)


def forward_flops_per_token(shape: Transformer, sequence: int) -> float:
    """Return what the forward pass of one token needs: products and causal attention."""
    core = shape.num_attention_layers * core_flops_per_token(shape, sequence)
    return _product_flops(shape, sequence) + core


def _diffusion_flops(shape: Transformer, sequence: int, *, core: bool) -> float:
    """Return what a token of the latent needs in a layer: products, or attention."""
    whole = diffusion_operators(shape, Shard(micro_batch=1, sequence=sequence))
    padded = kernel_head_dim(shape.model.head_dim) / shape.model.head_dim if core else 1.0
    return sum(one.flops for one in whole if one.core_attention == core) / padded / sequence


def _product_flops(shape: Transformer, sequence: int) -> float:
    model = shape.model
    dense, moe = shape.num_dense_layers, shape.num_moe_layers
    total = 2.0 * model.hidden * model.vocabulary
    if model.diffusion is not None:
        return total + model.num_layers * _diffusion_flops(shape, sequence, core=False)
    total += dense * _layer_flops(shape, moe=False) if dense else 0.0
    total += moe * _layer_flops(shape, moe=True) if moe else 0.0
    if model.linear is not None:
        total += shape.num_linear_layers * model.linear.needed_flops_per_token
    return total


def recomputed_flops_per_token(shape: Transformer, sequence: int, recompute: Recompute) -> float:
    """Return what recomputation adds for one token."""
    core = shape.num_attention_layers * core_flops_per_token(shape, sequence)
    match recompute:
        case "none":
            return 0.0
        case "light":
            return shape.num_attention_layers * latent_up_flops_per_token(shape)
        case "selective":
            return core
        case "full":
            head = 2.0 * shape.model.hidden * shape.model.vocabulary
            return forward_flops_per_token(shape, sequence) - head


def latent_up_flops_per_token(shape: Transformer) -> float:
    """Return what one layer's up-projections of latent attention need for a token."""
    model = shape.model
    if not shape.is_mla:
        return 0.0
    keys_values = model.num_heads * (model.head_dim + shape.value_head_dim)
    queries = (model.query_rank or model.hidden) * shape.query_width
    return 2.0 * (queries + model.kv_rank * keys_values)


def step_flops(shape: Transformer, training: Training) -> tuple[float, float]:
    """Return the FLOPs of one step: what the model needs, and with recomputation."""
    tokens = training.global_batch * training.sequence
    needed = _needed_flops_per_token(shape, training) * tokens
    again = recomputed_flops_per_token(shape, training.span, training.recompute) * tokens
    return needed, needed + again


def _needed_flops_per_token(shape: Transformer, training: Training) -> float:
    """Return both passes of one token: frozen products have no gradient of their matrix."""
    all_trained = 3 * forward_flops_per_token(shape, training.span)
    tuning = training.tuning
    if not tuning.is_low_rank:
        return all_trained
    added = sum(
        num * 2.0 * adapter_parameters(shape, tuning, moe=moe, active=True).total
        for moe, num in ((False, shape.num_dense_layers), (True, shape.num_moe_layers))
        if num
    )
    return all_trained - _product_flops(shape, training.span) + 3 * added


def _layer_flops(shape: Transformer, *, moe: bool) -> float:
    counted = layer_parameters(shape, moe=moe)
    # Biases and norms add a vector each; only matrices multiply.
    vectors = _vector_parameters(shape, moe=moe)
    idle = shape.model.num_experts - shape.model.experts_per_token
    return 2.0 * (counted.total - vectors - (idle * expert_parameters(shape) if moe else 0))


def _vector_parameters(shape: Transformer, *, moe: bool) -> float:
    model = shape.model
    each_norm = model.hidden * (2 if model.biases else 1)
    norms = float(shape.num_halves * each_norm + model.query_rank + model.kv_rank)
    if model.linear is not None:
        norms += shape.linear_share(moe=moe) * model.linear.vector_parameters
    if not model.biases:
        return norms
    biases = shape.query_width + shape.kv_width + model.hidden
    width = model.expert_hidden if moe else model.ffn_hidden
    copies = model.num_experts + model.num_shared_experts if moe else 1
    return norms + biases + copies * ((shape.num_ffn_matrices - 1) * width + model.hidden)


def core_flops_per_token(shape: Transformer, sequence: int) -> float:
    """Return what one layer's attention needs for a token: causal, but for diffusion models."""
    if shape.model.diffusion is not None:
        return _diffusion_flops(shape, sequence, core=True)
    # A token looks back at half the sequence on average: scores, then values.
    keys = sequence / 2 * _window_share(shape, sequence)
    return 2.0 * keys * (shape.query_width + shape.output_width)


def _window_share(shape: Transformer, sequence: int, *, tile: int = 0) -> float:
    """Return the keys that queries look at over those of causal attention, mean of the layers.

    Of every ``window_interval`` layers ``num_windowed`` look at the last ``window`` tokens; a
    kernel that skips blocks of *tile* keys works on that many more.
    """
    model = shape.model
    if not model.window:
        return 1.0
    seen = min(1.0, (model.window + tile) / sequence)
    windowed = model.num_windowed / model.window_interval
    return 1 - (1 - (2 * seen - seen**2)) * windowed


def _attention_block(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    model, tokens = shape.model, shard.tokens
    out = _matmul("projection", tokens, model.hidden, shape.output_width / shard.tensor)
    core = _core(shape, shard)
    if shape.is_mla:
        return (*_latent_projections(shape, shard), *core, out)
    gate = shape.output_width / shard.tensor if model.gated_attention else 0.0
    width = shape.query_width / shard.tensor + shape.kv_width_of_rank(shard.tensor)
    qkv = _matmul("qkv", tokens, width + gate, model.hidden)
    core = (*core, _pointwise("gate", tokens * gate, passes=3)) if gate else core
    if model.learned_positions:
        return (qkv, *core, out)
    # Queries and keys turn, values do not: half of what the keys and values are wide.
    rotated = shape.query_width / shard.tensor + shape.kv_width_of_rank(shard.tensor) / 2
    rotary = _pointwise("rotary", tokens * rotated, passes=2)
    return (qkv, rotary, *core, out)


def _latent_projections(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    model, tokens = shape.model, shard.tokens
    latent = model.kv_rank + model.rope_head_dim + model.query_rank
    query_in = model.query_rank or model.hidden
    kv_out = model.num_heads * (model.head_dim + shape.value_head_dim) / shard.tensor
    rotated = 2 * model.num_heads * shape.query_head_dim / shard.tensor
    return (
        _matmul("latent down", shard.split_tokens, latent, model.hidden),
        _norm("latent norm", shard.split_tokens * (model.kv_rank + model.query_rank)),
        _cheap(_matmul("query up", tokens, shape.query_width / shard.tensor, query_in)),
        _cheap(_matmul("key-value up", tokens, kv_out, model.kv_rank)),
        _cheap(_pointwise("rotary", tokens * rotated, passes=2)),
    )


def _core(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    """Return softmax(QK)V: one fused kernel, or two products and what passes between them."""
    heads = shape.model.num_heads / shard.tensor
    fused = shard.attention == "fused"
    # Unfused computes what the mask hides, samples packed beside one another included.
    seen = (shard.span or shard.sequence) if fused else shard.sequence
    pairs = shard.tokens * seen * heads
    width = shape.query_head_dim + shape.value_head_dim
    own = (shape.query_width + shape.output_width) / shard.tensor
    io_bytes = ACTIVATION_BYTES * shard.tokens * (own + shape.kv_width_of_rank(shard.tensor))
    # Unfused computes the masked half as well, and all that a window leaves out.
    kept = _window_share(shape, seen, tile=WINDOW_TILE)
    flops = (kept if fused else 2.0) * pairs * width
    product = Operator(
        name="attention",
        kind="attention",
        flops=flops,
        size_bytes=io_bytes,
        backward_flops=flops * (FUSED_BACKWARD if fused else 2.0),
        backward_bytes=2 * io_bytes,
        core_attention=True,
        sequence=max(1, seen // shard.context),  # a ring's kernels see one block at a time
        head_dim=shape.value_head_dim,
    )
    return (product,) if fused else (product, _scores(pairs, dropout=shape.model.biases))


def _scores(pairs: float, *, dropout: bool) -> Operator:
    # Bytes per score, 16-bit: written by the first product (2), softmax in and out (4), read by
    # the second (2); dropout reads, writes and stores a mask (5). Backward: both gradients of
    # the score matrix written and read (8), softmax reads its output (2); dropout the same 5.
    extra = 5.0 if dropout else 0.0
    return Operator(
        name="softmax",
        kind="pointwise",
        flops=0,
        size_bytes=pairs * (8 + extra),
        backward_flops=0,
        backward_bytes=pairs * (10 + extra),
        core_attention=True,
    )


def _dense_block(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    share = shape.block_share(moe=False)
    if not share:
        return ()
    block = _ffn("ffn", shape, rows=shard.tokens, width=shape.model.ffn_hidden / shard.tensor)
    return block if share == 1 else tuple(replace(one, share=share) for one in block)


def _moe_block(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    model = shape.model
    sent = shard.split_tokens * model.experts_per_token
    rows = sent * shard.expert_load(sent * shard.expert) * shard.expert_gathered
    width = model.expert_hidden / shard.expert_split
    local = model.num_experts / shard.expert
    experts = _ffn("experts", shape, rows=rows, width=width, num=local, hidden=shape.expert_input)
    # Sorted by expert before they leave and, where ranks hold several experts, again when they
    # arrive; the same on the way back (Megatron-Core, MoEAlltoAllTokenDispatcher). Backward moves
    # as much.
    again = shard.expert > 1 and model.num_experts > shard.expert
    move = _moved("permute", sent * shape.expert_input, passes=4 if again else 2)
    router = _matmul("router", shard.split_tokens, model.num_experts, model.hidden)
    shared = model.num_shared_experts * model.expert_hidden / shard.tensor
    always = _ffn("shared experts", shape, rows=shard.tokens, width=shared) if shared else ()
    up, activation, down = experts
    acts = (*_clamp(shape, rows * width), activation)
    routed = (move, up, *acts, down, *_expert_bias(shape, rows), move)
    if model.expert_latent:
        own, latent = shard.split_tokens, model.expert_latent
        into = _matmul("latent in", own, latent, model.hidden)
        routed = (into, *routed, _matmul("latent out", own, model.hidden, latent))
    return (router, *routed, *always)


def _clamp(shape: Transformer, values: float) -> tuple[Operator, ...]:
    """Return the clamps before the experts' activation; none where there are none."""
    if not shape.model.clamped:
        return ()
    clamp = _passes(
        "experts clamp",
        (CLAMP_BYTES * values, CLAMP_BACKWARD_BYTES * values),
        (STRIDED_RATE, STRIDED_RATE * CLAMP_BACKWARD_BYTES / CLAMP_BYTES),
    )
    both = JOINED_BYTES * values
    joined = _passes("experts joined", (both, both), (JOINED_RATE, JOINED_RATE))
    return _cheap(clamp), _cheap(joined)


def _expert_bias(shape: Transformer, rows: float) -> tuple[Operator, ...]:
    """Return the sum with the biases of the experts' outputs; none without biases."""
    if not shape.model.biases:
        return ()
    values = rows * shape.expert_input
    product = _passes(
        "experts bias product",
        (BIAS_PRODUCT_BYTES * values, BIAS_PRODUCT_BACKWARD_BYTES * values),
        # Of one value forward and two backward, whatever their bytes.
        (BROADCAST_RATE, BROADCAST_RATE * BIAS_PRODUCT_BACKWARD_BYTES / 8),
    )
    sums = (EXPERT_BIAS_BYTES * values, EXPERT_BIAS_BACKWARD_BYTES * values)
    return product, _passes("experts bias", sums, None)


def _passes(
    name: str, sizes_bytes: tuple[float, float], paces: tuple[float, float] | None
) -> Operator:
    """Return a kernel bound by memory or by its instructions, of sizes_bytes each way."""
    forward, backward = sizes_bytes
    return Operator(
        name=name,
        kind="pointwise",
        flops=0,
        size_bytes=forward,
        backward_flops=0,
        backward_bytes=backward,
        paces=paces,
    )


def _ffn(
    name: str,
    shape: Transformer,
    *,
    rows: float,
    width: float,
    num: float = 1,
    hidden: int | None = None,
) -> tuple[Operator, ...]:
    hidden = hidden or shape.model.hidden
    ways_in = shape.num_ffn_matrices - 1
    return (
        _matmul(f"{name} in", rows, ways_in * width, hidden, num=num),
        _cheap(_pointwise(f"{name} activation", rows * width, passes=ways_in + 1)),
        _matmul(f"{name} out", rows, hidden, width, num=num),
    )


def _cheap(operator: Operator) -> Operator:
    return replace(operator, cheap=True)


def _moved(name: str, elements: float, *, passes: float) -> Operator:
    """Return a copy to other places, which backward is another such copy."""
    forward = _pointwise(name, elements, passes=passes)
    return replace(forward, backward_bytes=forward.size_bytes)


def _add_passes(shape: Transformer) -> float:
    # Two reads and a write; models with biases were trained with dropout, which adds a mask
    # of one byte, half a pass (Korthikanti et al. 2022, section 4).
    return 3.5 if shape.model.biases else 3.0
