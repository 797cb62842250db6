"""What one layer keeps of one micro-batch until its backward pass, tensor by tensor.

Korthikanti et al. 2022 (arXiv:2205.05198) section 4 names them for GPT; grouped heads, gated
blocks, experts, latent attention and 8-bit products change single ones. What PyTorch's own layers
keep was read off 103 steps on one H200 (docs/models/memory.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.spec.precision import is_cast, product_bytes
from netloom.step.memory.diffusion import diffusion_tensors
from netloom.workload.flops import ACTIVATION_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.spec.scenario import Training
    from netloom.spec.tuning import AdaptedModule, Tuning
    from netloom.step.practice import Practice
    from netloom.workload.flops import Shard
    from netloom.workload.transformer import Transformer

__all__ = ["layer_activation_bytes", "layer_tensors", "recomputed_modules"]

# Megatron-Core's modules that each kind of recomputation stands for; the activation function of
# dense blocks goes with that of experts.
_MODULES: Final = {
    "none": (),
    "light": ("layernorm", "moe_act", "mla_up_proj"),
    "selective": ("core_attn",),
}
_FP32: Final = 4


class _Keeping(NamedTuple):
    """How tensors are kept: bytes of each kind, and what is computed again.

    Attributes:
        stream: Of the residual stream.
        product: Of what enters a matrix product.
        copies: Copies of the first and of the second norm's output that products keep.
        tuning: Frozen products keep no input; what low-rank ones beside them keep is 16 bits wide.
    """

    stream: int
    product: float
    copies: tuple[int, int]
    torch: bool
    fused: bool
    unfused_attention: bool
    again: frozenset[str]
    tuning: Tuning

    def input_of(self, module: AdaptedModule) -> float:
        """Return the bytes of a value that *module* keeps of its input."""
        if not self.tuning.trains_input_of(module):
            return 0.0
        return ACTIVATION_BYTES if self.tuning.is_low_rank else self.product


def layer_activation_bytes(
    shape: Transformer, shard: Shard, *, moe: bool, training: Training, practice: Practice
) -> float:
    """Return what one layer keeps of one micro-batch until its backward pass."""
    return sum(layer_tensors(shape, shard, moe=moe, training=training, practice=practice).values())


def layer_tensors(
    shape: Transformer,
    shard: Shard,
    *,
    moe: bool,
    training: Training,
    practice: Practice,
    whole: bool = False,
) -> dict[str, float]:
    """Return the bytes of each tensor that one layer keeps of one micro-batch.

    Args:
        shape: The model.
        shard: What the GPU has of a micro-batch.
        moe: Whether the layer has experts.
        training: Precision and recomputation.
        practice: The software, whose modules to recompute stand in place of the training's.
        whole: All that a backward pass needs, nothing computed again.
    """
    ways = _ways(training, practice, moe=moe, whole=whole)
    if shape.model.diffusion is not None:
        return diffusion_tensors(shape, shard, shape.model.diffusion, again=ways.again)
    if "every second product" in ways.again:
        return _every_second_product(shape, shard, moe=moe)
    stream = shard.split_tokens * shape.model.hidden
    kept = {"first norm's input": ways.stream * stream}
    if "layer" in ways.again:
        return kept
    kept |= _norms(shape, stream, ways)
    share = shape.attention_share(moe=moe)
    kept |= {name: share * size for name, size in _attention(shape, shard, ways).items()}
    kept |= _linear(shape, shard, ways, share=shape.linear_share(moe=moe))
    block = _expert_block(shape, shard, ways) if moe else _dense_block(shape, shard, ways)
    share = shape.block_share(moe=moe)
    kept |= {name: share * size for name, size in block}
    if ways.tuning.adapted:
        rank = len(ways.tuning.adapted) * ways.tuning.rank
        kept["between low-rank products"] = ACTIVATION_BYTES * shard.tokens * rank
    return {name: size for name, size in kept.items() if size}


def recomputed_modules(training: Training, practice: Practice) -> frozenset[str]:
    """Return Megatron-Core's names of what is computed again; ``layer`` for everything."""
    if practice.recompute_modules is not None:
        return frozenset(practice.recompute_modules)
    if training.recompute == "full":
        return frozenset({"layer"})
    if training.recompute == "selective" and practice.kernels == "torch":
        return frozenset({"every second product"})
    return frozenset(_MODULES[training.recompute])


def _ways(training: Training, practice: Practice, *, moe: bool, whole: bool) -> _Keeping:
    torch = practice.kernels == "torch"
    cast = is_cast(training.precision) and not torch
    # autocast casts a norm's fp32 output for every product that takes it: queries, keys and
    # values; gate and up, or the router.
    copies = (3, 1 if moe else 2) if practice.autocast else (1, 1)
    return _Keeping(
        stream=_FP32 if practice.autocast else ACTIVATION_BYTES,
        product=product_bytes(training.precision) if cast else ACTIVATION_BYTES,
        copies=copies,
        torch=torch,
        fused=practice.fused,
        unfused_attention=practice.attention == "unfused",
        again=frozenset() if whole else recomputed_modules(training, practice),
        tuning=training.tuning,
    )


def _every_second_product(shape: Transformer, shard: Shard, *, moe: bool) -> dict[str, float]:
    """Return what torchtitan's selective checkpointing keeps.

    The outputs of attention and of every second matrix product, and the layer's input
    (torchtitan, activation_checkpoint.py, selective_ac_option "op"; recalled).
    """
    model = shape.model
    stream = shard.split_tokens * model.hidden
    output = shard.tokens * shape.output_width / shard.tensor
    width = shape.query_width / shard.tensor + shape.kv_width_of_rank(shard.tensor)
    if moe:
        rows = shard.split_tokens * model.experts_per_token
        block = rows * ((shape.num_ffn_matrices - 1) * model.expert_hidden + model.hidden)
    else:
        inner = (shape.num_ffn_matrices - 1) * model.ffn_hidden / shard.tensor
        block = shard.tokens * inner + stream
    products = shard.tokens * width + stream + block
    return {
        "first norm's input": ACTIVATION_BYTES * stream,
        "attention's output": ACTIVATION_BYTES * output,
        "every second product's output": ACTIVATION_BYTES * products / 2,
    }


def _linear(shape: Transformer, shard: Shard, ways: _Keeping, *, share: float) -> dict[str, float]:
    """Return what layers without attention keep: states of the scan are computed again.

    Mamba-2's fused kernel computes the convolution again, too; Gated DeltaNet's keeps its output
    and the inverted triangle of keys (flash-linear-attention; read in public copies).
    """
    mixer = shape.model.linear
    if mixer is None or not share:
        return {}
    tokens = share * shard.tokens / shard.tensor
    kept = {
        "mixer's projections": ACTIVATION_BYTES * tokens * mixer.projected,
        "scan's output": ACTIVATION_BYTES * tokens * mixer.inner,
        "mixer's output": ways.product * tokens * mixer.inner,
    }
    if mixer.kind == "gated-delta":
        triangle = mixer.num_heads * mixer.chunk
        kept["convolution's output"] = ACTIVATION_BYTES * tokens * (mixer.channels + triangle)
    return kept


def _norms(shape: Transformer, stream: float, ways: _Keeping) -> dict[str, float]:
    if shape.num_halves == 1:
        again = "layernorm" in ways.again
        return {} if again else {"first norm's output": ways.input_of("linear_fc1") * stream}
    kept = {"second norm's input": ways.stream * stream}
    if "layernorm" not in ways.again:
        first, second = ways.copies
        kept["first norm's output"] = first * ways.input_of("linear_qkv") * stream
        kept["second norm's output"] = second * ways.input_of("linear_fc1") * stream
    if shape.model.biases and not ways.torch:
        kept["dropout masks"] = 2 * stream  # a byte after each block: models with biases drop out
    return kept


def _attention(shape: Transformer, shard: Shard, ways: _Keeping) -> dict[str, float]:
    model = shape.model
    output = shard.tokens * shape.output_width / shard.tensor
    kept: dict[str, float] = {}
    if "mla_up_proj" in ways.again and shape.is_mla:
        latent = model.kv_rank + model.rope_head_dim + model.query_rank
        kept["latent queries, keys and values"] = ACTIVATION_BYTES * shard.split_tokens * latent
    else:
        width = shape.query_width / shard.tensor + shape.kv_width_of_rank(shard.tensor)
        kept["queries, keys and values"] = ACTIVATION_BYTES * shard.tokens * width
    if model.gated_attention:
        kept["attention's gate"] = 2 * ACTIVATION_BYTES * output
    # The kernel keeps its output in 16 bits, the projection after it its input; these are one
    # tensor unless the projection casts it, or PyTorch copies it into another order.
    apart = ways.torch or ways.product < ACTIVATION_BYTES
    if not apart or "core_attn" not in ways.again:
        kept["attention's output"] = ACTIVATION_BYTES * output
    if apart:
        kept["projection's input"] = ways.input_of("linear_proj") * output
    if "core_attn" in ways.again:
        return kept
    if ways.unfused_attention:
        # Softmax output, dropout output and mask: 5 bytes a score with dropout, else 2.
        per_score = 5 if model.biases else ACTIVATION_BYTES
        scores = shard.tokens * shard.sequence * model.num_heads / shard.tensor
        kept["scores"] = per_score * scores
    else:
        kept["softmax's sums"] = _FP32 * shard.tokens * model.num_heads / shard.tensor
    return kept


def _dense_block(shape: Transformer, shard: Shard, ways: _Keeping) -> Iterator[tuple[str, float]]:
    if "mlp" in ways.again:
        return
    yield from _inner(shape, shard.tokens * shape.model.ffn_hidden / shard.tensor, ways, "")


def _expert_block(shape: Transformer, shard: Shard, ways: _Keeping) -> Iterator[tuple[str, float]]:
    model = shape.model
    sent = shard.split_tokens * model.experts_per_token
    gathered = sent * shard.expert_gathered
    rows = gathered / shard.expert_split
    if "moe" in ways.again:
        return
    yield "router's probabilities", _FP32 * shard.split_tokens * model.num_experts
    yield "tokens at the experts", ways.input_of("linear_fc1") * gathered * shape.expert_input
    yield from _inner(shape, rows * model.expert_hidden, ways, "experts: ")
    if not ({"moe_act"} & ways.again):
        # Weighted after the last product, which backward needs; before it with moe_act.
        yield "tokens from the experts", ACTIVATION_BYTES * sent * shape.expert_input
    if model.num_shared_experts and "shared_experts" not in ways.again:
        shared = shard.tokens * model.num_shared_experts / shard.tensor * model.expert_hidden
        yield from _inner(shape, shared, ways, "shared experts: ")


def _inner(
    shape: Transformer, elements: float, ways: _Keeping, whose: str
) -> Iterator[tuple[str, float]]:
    """Yield what enters the activation function and what leaves it."""
    widths = shape.num_ffn_matrices - 1
    yield f"{whose}into the activation function", ACTIVATION_BYTES * widths * elements
    if "moe_act" in ways.again:
        return
    if shape.model.gated and not ways.fused:
        yield f"{whose}gate's activation", ACTIVATION_BYTES * elements
    yield f"{whose}out of the activation function", ways.input_of("linear_fc2") * elements
