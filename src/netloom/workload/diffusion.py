"""Layers of diffusion transformers: their parameters and operators.

Norms are scaled and shifted and both halves of a block gated by vectors that a product makes from
the conditioning (adaLN, arXiv:2212.09748); attention has no mask. ``mmdit`` has a stream for the
image and one for the text (arXiv:2403.03206), and blocks over both joined where it has singles
(FLUX.1); ``cross`` attends to the text besides (PixArt-alpha, arXiv:2310.00426; Wan 2.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.workload.operator import (
    ACTIVATION_BYTES,
    FUSED_BACKWARD,
    Operator,
    matmul,
    norm,
    pointwise,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.diffusion import Diffusion
    from netloom.workload.operator import Shard
    from netloom.workload.transformer import Transformer

__all__ = ["diffusion_operators", "encoder_operators", "kernel_head_dim", "text_rows"]

_VECTORS: Final = 6  # scale, shift and gate of each half of a block
_SINGLE_VECTORS: Final = 3
_KERNEL_HEADS: Final = (64, 128)  # sizes that were measured (compute/data/h200_attention.csv)


def text_rows(shape: Transformer, shard: Shard) -> float:
    """Return the text's tokens of one micro-batch on one GPU."""
    blocks = shape.model.diffusion
    return 0.0 if blocks is None else shard.micro_batch * blocks.text_tokens / shard.context


def diffusion_operators(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    """Return the operators of one layer: a block, and its singles."""
    blocks = shape.model.diffusion
    assert blocks is not None
    return tuple(_operators(shape, shard, blocks))


def encoder_operators(shape: Transformer, shard: Shard) -> tuple[Operator, ...]:
    """Return the forward passes of the text encoder and the image encoder, which stay as they are.

    They are divided over the ranks that share a sample.
    """
    blocks = shape.model.diffusion
    if blocks is None or not shard.encodes:
        return ()
    shared = shard.tensor * shard.context
    text = 2.0 * blocks.encoder_parameters * shard.micro_batch * blocks.text_tokens
    pixels = shard.micro_batch * shard.sequence * blocks.stride**2 * blocks.frame_stride
    image = (blocks.encoder_flops_per_pixel or 0.0) * pixels
    found = (("text encoder", text), ("image encoder", image))
    return tuple(_forward_only(name, flops / shared) for name, flops in found if flops)


def _forward_only(name: str, flops: float) -> Operator:
    return Operator(
        name=name,
        kind="matmul",
        flops=flops,
        size_bytes=0.0,
        backward_flops=0.0,
        backward_bytes=0.0,
    )


def _operators(shape: Transformer, shard: Shard, blocks: Diffusion) -> Iterator[Operator]:
    model, tensor = shape.model, shard.tensor
    hidden, text = model.hidden, text_rows(shape, shard)
    streams = (shard.tokens, text) if blocks.kind == "mmdit" else (shard.tokens,)
    rows = sum(streams)
    joined = shard.sequence + (blocks.text_tokens if blocks.kind == "mmdit" else 0)
    for tokens in streams:
        if not blocks.shared_modulation:
            yield matmul("modulation", shard.micro_batch, _VECTORS * hidden, hidden)
        yield from _modulated(shape, shard, tokens)
        yield matmul("qkv", tokens, 3 * hidden / tensor, hidden)
    yield _attention(shape, shard, rows, joined)
    for tokens in streams:
        yield matmul("projection", tokens, hidden, hidden / tensor)
        yield _gated(shape, shard, tokens)
        if blocks.kind == "cross":
            yield from _cross(shape, shard, tokens, text)
        yield from _modulated(shape, shard, tokens)
        width = model.ffn_hidden / tensor
        ways_in = shape.num_ffn_matrices - 1
        yield matmul("ffn in", tokens, ways_in * width, hidden)
        yield pointwise("ffn activation", tokens * width, passes=ways_in + 1)
        yield matmul("ffn out", tokens, hidden, width)
        yield _gated(shape, shard, tokens)
    for _ in range(blocks.num_singles):
        yield from _single(shape, shard, rows, joined)


def _single(shape: Transformer, shard: Shard, rows: float, joined: int) -> Iterator[Operator]:
    """Yield a block whose attention and feed-forward block share their products."""
    hidden, wide = shape.model.hidden, shape.model.ffn_hidden
    blocks = shape.model.diffusion
    assert blocks is not None
    if not blocks.shared_modulation:
        yield matmul("modulation", shard.micro_batch, _SINGLE_VECTORS * hidden, hidden)
    yield from _modulated(shape, shard, rows)
    yield matmul("single in", rows, (3 * hidden + wide) / shard.tensor, hidden)
    yield _attention(shape, shard, rows, joined)
    yield pointwise("single activation", rows * wide / shard.tensor, passes=2)
    yield matmul("single out", rows, hidden, (hidden + wide) / shard.tensor)
    yield _gated(shape, shard, rows)


def _cross(shape: Transformer, shard: Shard, tokens: float, text: float) -> Iterator[Operator]:
    hidden, own = shape.model.hidden, shape.model.hidden / shard.tensor
    blocks = shape.model.diffusion
    assert blocks is not None
    yield norm("cross norm", _split(shard, tokens) * hidden)
    yield matmul("cross query", tokens, own, hidden)
    yield matmul("cross key-value", text, 2 * own, hidden)
    yield _attention(shape, shard, tokens, blocks.text_tokens)
    yield matmul("cross projection", tokens, hidden, own)
    yield pointwise("residual", _split(shard, tokens) * hidden, passes=3)


def _modulated(shape: Transformer, shard: Shard, tokens: float) -> Iterator[Operator]:
    elements = _split(shard, tokens) * shape.model.hidden
    yield norm("norm", elements)
    yield pointwise("scale and shift", elements, passes=2)


def _gated(shape: Transformer, shard: Shard, tokens: float) -> Operator:
    return pointwise("gate and residual", _split(shard, tokens) * shape.model.hidden, passes=3)


def _split(shard: Shard, tokens: float) -> float:
    return tokens / (shard.tensor if shard.sequence_parallel else 1)


def _attention(shape: Transformer, shard: Shard, rows: float, keys: int) -> Operator:
    """Return attention of *rows* to all *keys* of their sample, without a mask."""
    heads = shape.model.num_heads / shard.tensor
    head_dim = kernel_head_dim(shape.model.head_dim)
    flops = 4.0 * rows * keys * heads * head_dim
    io_bytes = 4.0 * ACTIVATION_BYTES * rows * shape.query_width / shard.tensor
    return Operator(
        name="attention",
        kind="attention",
        flops=flops,
        size_bytes=io_bytes,
        backward_flops=FUSED_BACKWARD * flops,
        backward_bytes=2 * io_bytes,
        core_attention=True,
        sequence=max(1, keys // shard.context),
        head_dim=head_dim,
    )


def kernel_head_dim(head_dim: int) -> int:
    """Return the size that attention kernels pad a head to: heads of 72 run as heads of 128."""
    return next((size for size in _KERNEL_HEADS if head_dim <= size), head_dim)
