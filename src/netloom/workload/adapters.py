"""Low-rank fine-tuning (LoRA): the parameters it adds to a frozen model, and its operators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.workload.parameters import LayerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.parts.diffusion import Diffusion
    from netloom.spec.tuning import AdaptedModule, Tuning
    from netloom.workload.operator import Operator
    from netloom.workload.transformer import Transformer

__all__ = ["MODULE_OF", "adapter_parameters", "tuned_operators"]

# The products of a layer that each of Megatron-Core's modules stands for.
MODULE_OF: Final[Mapping[str, AdaptedModule]] = {
    "qkv": "linear_qkv",
    "latent down": "linear_qkv",
    "query up": "linear_qkv",
    "key-value up": "linear_qkv",
    "projection": "linear_proj",
    "ffn in": "linear_fc1",
    "experts in": "linear_fc1",
    "shared experts in": "linear_fc1",
    "ffn out": "linear_fc2",
    "experts out": "linear_fc2",
    "shared experts out": "linear_fc2",
    # Of diffusion models; a single block's two products do what four modules do elsewhere.
    "cross query": "linear_qkv",
    "cross key-value": "linear_qkv",
    "cross projection": "linear_proj",
    "single in": "linear_qkv",
    "single out": "linear_proj",
}
_BYTES: Final = 2  # low-rank matrices and what passes between them stay in 16 bits
# Of the four bytes that a cast moves, without the transpose, which only gradients of matrices need.
_FROZEN_CAST: Final = 3 / 4


def adapter_parameters(
    shape: Transformer, tuning: Tuning, *, moe: bool, active: bool = False
) -> LayerParameters:
    """Return the low-rank parameters of one layer.

    A matrix of m rows and n columns gets one of rank x n and one of m x rank (LoRA,
    arXiv:2106.09685, section 4.1), both divided over tensor-parallel ranks (Megatron-Bridge
    peft, ParallelLinearAdapter). Every expert has its own.

    Args:
        shape: The model.
        tuning: Rank, and which matrices.
        moe: Whether the layer has experts.
        active: Only those that one token meets.
    """
    model = shape.model
    if model.diffusion is not None:
        matrices = tuple(_diffusion(shape, model.diffusion))
        return LayerParameters(shared=_sides(tuning, matrices), replicated=0)
    if model.linear is not None or model.expert_latent:
        raise SpecError(
            key="job.training.tuning",
            what=f"low-rank fine-tuning of hybrid models ({model.name}) is not modelled",
            remedy="use sft",
        )
    if not moe:
        return LayerParameters(
            shared=_sides(tuning, (*_attention(shape), *_block(shape, model.ffn_hidden))),
            replicated=0,
        )
    expert = _sides(tuning, _block(shape, model.expert_hidden))
    wide = model.num_shared_experts * model.expert_hidden
    beside = _block(shape, wide) if wide else ()
    return LayerParameters(
        shared=_sides(tuning, (*_attention(shape), *beside)),
        replicated=0,
        experts=(model.experts_per_token if active else model.num_experts) * expert,
    )


def _sides(tuning: Tuning, matrices: tuple[tuple[AdaptedModule, int, int], ...]) -> int:
    return sum(
        tuning.rank * (rows + columns) for name, rows, columns in matrices if tuning.adapts(name)
    )


def _attention(shape: Transformer) -> Iterator[tuple[AdaptedModule, int, int]]:
    """Yield the matrices of the attention: module, what leaves it, what enters it."""
    model = shape.model
    yield "linear_proj", model.hidden, shape.output_width
    if not shape.is_mla:
        yield "linear_qkv", shape.query_width + shape.kv_width, model.hidden
        return
    latent = model.kv_rank + model.rope_head_dim + model.query_rank
    keys_values = model.num_heads * (model.head_dim + shape.value_head_dim)
    yield "linear_qkv", latent, model.hidden
    yield "linear_qkv", shape.query_width, model.query_rank or model.hidden
    yield "linear_qkv", keys_values, model.kv_rank


def _diffusion(shape: Transformer, blocks: Diffusion) -> Iterator[tuple[AdaptedModule, int, int]]:
    """Yield the matrices of a block of each stream, attention to the text, and singles."""
    hidden, wide = shape.model.hidden, shape.model.ffn_hidden
    for _ in range(blocks.num_streams):
        yield "linear_qkv", 3 * hidden, hidden
        yield "linear_proj", hidden, hidden
        yield from _block(shape, wide)
    if blocks.kind == "cross":
        yield "linear_qkv", hidden, hidden
        yield "linear_qkv", 2 * hidden, hidden
        yield "linear_proj", hidden, hidden
    for _ in range(blocks.num_singles):
        yield "linear_qkv", 3 * hidden + wide, hidden
        yield "linear_proj", hidden, hidden + wide


def _block(shape: Transformer, width: int) -> tuple[tuple[AdaptedModule, int, int], ...]:
    hidden = shape.model.hidden
    return (
        ("linear_fc1", (shape.num_ffn_matrices - 1) * width, hidden),
        ("linear_fc2", hidden, width),
    )


def tuned_operators(operators: tuple[Operator, ...], tuning: Tuning) -> tuple[Operator, ...]:
    """Return *operators* as *tuning* runs them: products frozen, low-rank ones beside them."""
    if not tuning.is_low_rank:
        return operators
    return tuple(one for operator in operators for one in _beside_frozen(operator, tuning))


def _beside_frozen(operator: Operator, tuning: Tuning) -> Iterator[Operator]:
    """Yield *operator* with its matrix frozen, and the low-rank products beside it, if any.

    Backward, a frozen product has the gradient of its input alone (LoRA, section 4.2).
    """
    if operator.shape is None:
        yield operator
        return
    yield replace(
        operator,
        backward_flops=operator.flops,
        backward_bytes=operator.size_bytes,
        cast_bytes=_FROZEN_CAST * operator.cast_bytes,
        backward_cast_bytes=_FROZEN_CAST * operator.backward_cast_bytes,
        frozen=True,
    )
    module = MODULE_OF.get(operator.name)
    if module is not None and tuning.adapts(module):
        rows, columns, inner = operator.shape
        yield _thin(operator, "in", (rows, tuning.rank, inner))
        yield _thin(operator, "out", (rows, columns, tuning.rank))
        yield _sum(operator, forward=rows * columns, backward=rows * inner)


def _thin(operator: Operator, way: str, shape: tuple[float, float, float]) -> Operator:
    """Return one of the two products of a low-rank matrix beside *operator*."""
    rows, columns, inner = shape
    flops = 2.0 * rows * columns * inner
    size_bytes = _BYTES * (rows * (columns + inner) + operator.num * columns * inner)
    return replace(
        operator,
        name=f"{operator.name}, low rank {way}",
        flops=flops,
        size_bytes=size_bytes,
        backward_flops=2 * flops,
        backward_bytes=2 * size_bytes,
        cast_bytes=0.0,
        backward_cast_bytes=0.0,
        shape=shape,
    )


def _sum(operator: Operator, *, forward: float, backward: float) -> Operator:
    """Return the sum with the frozen product; backward, of both gradients of the input."""
    return replace(
        operator,
        name=f"{operator.name}, low rank sum",
        kind="pointwise",
        flops=0.0,
        size_bytes=3.0 * _BYTES * forward,
        backward_flops=0.0,
        backward_bytes=3.0 * _BYTES * backward,
        cast_bytes=0.0,
        backward_cast_bytes=0.0,
        shape=None,
        num=1,
    )
