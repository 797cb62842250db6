"""What one layer of a diffusion transformer keeps until its backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.workload.diffusion import text_rows
from netloom.workload.operator import ACTIVATION_BYTES

if TYPE_CHECKING:
    from netloom.parts.diffusion import Diffusion
    from netloom.workload.operator import Shard
    from netloom.workload.transformer import Transformer

__all__ = ["diffusion_tensors"]

_FP32: Final = 4


def diffusion_tensors(
    shape: Transformer, shard: Shard, blocks: Diffusion, *, again: frozenset[str]
) -> dict[str, float]:
    """Return the bytes of each tensor; recomputation is of whole blocks, or of the attention.

    Counted from the operators: inputs of norms and products, what attention keeps, and both sides
    of a gate.
    """
    text = text_rows(shape, shard) if blocks.kind == "mmdit" else 0.0
    rows = shard.tokens + text
    stream = shape.model.hidden * rows / (shard.tensor if shard.sequence_parallel else 1)
    num_blocks = 1 + blocks.num_singles
    kept = {"blocks' inputs": ACTIVATION_BYTES * num_blocks * stream}
    if "layer" in again:
        return kept
    own = shape.query_width * rows / shard.tensor
    wide = shape.model.ffn_hidden * rows / shard.tensor
    cross = blocks.kind == "cross"
    halves = shape.num_halves
    kept["halves' inputs"] = ACTIVATION_BYTES * (halves - num_blocks) * stream
    kept["modulated norms and gates"] = ACTIVATION_BYTES * 2 * halves * stream
    kept["queries, keys and values"] = ACTIVATION_BYTES * (3 * num_blocks + cross) * own
    if not {"core_attn", "every second product"} & again:
        kept["attention's output"] = ACTIVATION_BYTES * (num_blocks + cross) * own
        sums = shape.model.num_heads * rows / shard.tensor
        kept["softmax's sums"] = _FP32 * (num_blocks + cross) * sums
    ways = shape.num_ffn_matrices
    kept["both sides of the activation function"] = ACTIVATION_BYTES * ways * num_blocks * wide
    return kept
