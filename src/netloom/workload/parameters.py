"""How many parameters a model has: all, those one token meets, and one GPU's share.

Counted matrix by matrix: projections, feed-forward blocks, experts, router, norms,
embeddings, and biases where the model has them. Not counted: the norms on queries and keys
of some models (under 0.001 %), biases on the query, key and value projections alone, and
extra heads for multi-token prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.workload.transformer import Transformer, transformer

if TYPE_CHECKING:
    from netloom.parts.diffusion import Diffusion
    from netloom.parts.mixer import LinearMixer
    from netloom.parts.parts import Model

__all__ = [
    "LayerParameters",
    "active_parameters",
    "layer_parameters",
    "linear_parameters",
    "parameters",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerParameters:
    """The parameters of one layer; of a hybrid, the mean of its kind.

    Attributes:
        shared: Split by tensor parallelism: attention, dense block, shared experts.
        replicated: On every tensor-parallel rank: norms, router, what MLA compresses to.
        experts: The routed experts, all of them.
    """

    shared: float
    replicated: float
    experts: float = 0

    @property
    def total(self) -> float:
        """All of the layer."""
        return self.shared + self.replicated + self.experts


def parameters(model: Model) -> int:
    """Return all parameters of *model*."""
    shape = transformer(model)
    dense = layer_parameters(shape, moe=False).total if shape.num_dense_layers else 0
    moe = layer_parameters(shape, moe=True).total if shape.num_moe_layers else 0
    layers = round(shape.num_dense_layers * dense + shape.num_moe_layers * moe)
    return layers + embedding_parameters(shape) + head_parameters(shape) + norm_parameters(shape)


def active_parameters(model: Model) -> int:
    """Return the parameters that take part in one token; embeddings count in full."""
    if not model.num_experts:
        return parameters(model)
    idle = model.num_experts - model.experts_per_token
    shape = transformer(model)
    return parameters(model) - shape.num_moe_layers * idle * expert_parameters(shape)


def layer_parameters(shape: Transformer, *, moe: bool) -> LayerParameters:
    """Return the parameters of one layer, dense or with experts."""
    model = shape.model
    if model.diffusion is not None:
        return _diffusion(shape, model.diffusion)
    split, copied = _mixer(shape, moe=moe)
    copied += shape.num_halves * norm_parameters(shape)
    if not moe:
        block = shape.block_share(moe=False) * _ffn(shape, model.ffn_hidden)
        return LayerParameters(shared=split + block, replicated=copied)
    latent = 2 * model.hidden * model.expert_latent
    shared = model.num_shared_experts * _ffn(shape, model.expert_hidden)
    return LayerParameters(
        shared=split + shared,
        replicated=copied + model.hidden * model.num_experts + latent,
        experts=model.num_experts * expert_parameters(shape),
    )


def _mixer(shape: Transformer, *, moe: bool) -> tuple[float, float]:
    """Return what mixes tokens of a sequence: what tensor parallelism splits, and the rest."""
    share = shape.attention_share(moe=moe)
    split, copied = _attention(shape)
    mixer = shape.model.linear
    if mixer is None:
        return split, copied
    linear = shape.linear_share(moe=moe) * linear_parameters(shape.model.hidden, mixer)
    return share * split + linear, share * copied


def linear_parameters(hidden: int, mixer: LinearMixer) -> int:
    """Return the parameters of what passes a state along; heads divide all of it."""
    return hidden * (mixer.projected + mixer.inner) + mixer.vector_parameters


def _diffusion(shape: Transformer, blocks: Diffusion) -> LayerParameters:
    """Return a block of each stream, attention to the text, and singles; norms have none."""
    hidden, wide = shape.model.hidden, shape.model.ffn_hidden
    block = 4 * hidden**2 + shape.num_ffn_matrices * hidden * wide
    cross = 4 * hidden**2 if blocks.kind == "cross" else 0
    single = hidden * (3 * hidden + wide) + (hidden + wide) * hidden
    vectors = 6 * blocks.num_streams + 3 * blocks.num_singles
    return LayerParameters(
        shared=blocks.num_streams * block + cross + blocks.num_singles * single,
        replicated=0 if blocks.shared_modulation else vectors * hidden**2,
    )


def expert_parameters(shape: Transformer) -> int:
    """Return the parameters of one expert."""
    return _ffn(shape, shape.model.expert_hidden, shape.expert_input)


def embedding_parameters(shape: Transformer) -> int:
    """Return the token and learned position embeddings."""
    return (shape.model.vocabulary + shape.model.learned_positions) * shape.model.hidden


def head_parameters(shape: Transformer) -> int:
    """Return the output matrix; none of its own when tied to the embedding."""
    return 0 if shape.model.tied_embeddings else shape.model.vocabulary * shape.model.hidden


def norm_parameters(shape: Transformer) -> int:
    """Return one norm: a scale, and a shift where the model has biases (LayerNorm)."""
    return shape.model.hidden * (2 if shape.model.biases else 1)


def _ffn(shape: Transformer, width: int, hidden: int | None = None) -> int:
    model = shape.model
    outer = hidden or model.hidden
    biases = (shape.num_ffn_matrices - 1) * width + outer if model.biases else 0
    return shape.num_ffn_matrices * outer * width + biases


def _attention(shape: Transformer) -> tuple[int, int]:
    """Return the attention's parameters: those tensor parallelism splits, and the others."""
    model = shape.model
    out = shape.output_width * model.hidden
    if shape.is_mla:
        return _latent_attention(shape, out)
    gate = shape.output_width if model.gated_attention else 0
    qkv = model.hidden * (shape.query_width + shape.kv_width + gate)
    biases = shape.query_width + shape.kv_width + model.hidden if model.biases else 0
    return qkv + out + biases, 0


def _latent_attention(shape: Transformer, out: int) -> tuple[int, int]:
    # DeepSeek-V2 (arXiv:2405.04434) section 2.1: down-projections with a norm on each
    # compressed vector are small and stay whole; the up-projections are split by head.
    model = shape.model
    heads = model.num_heads
    down = model.hidden * (model.kv_rank + model.rope_head_dim) + model.kv_rank
    up = model.kv_rank * heads * (model.head_dim + shape.value_head_dim)
    if not model.query_rank:
        return up + out + model.hidden * shape.query_width, down
    down += model.hidden * model.query_rank + model.query_rank
    return up + out + model.query_rank * shape.query_width, down
