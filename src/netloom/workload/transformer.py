"""The shape of a transformer, checked once and asked many times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.parts.mixer import ATTENTION, EXPERTS, FEED_FORWARD, LINEAR

if TYPE_CHECKING:
    from netloom.parts.parts import Model

__all__ = ["Transformer", "transformer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer:
    """A decoder-only transformer: dense or mixture-of-experts, MHA, GQA or MLA.

    Layers of a hybrid that pass a state along in place of attention are averaged with those that
    have attention, apart for layers with experts and without.

    Attributes:
        model: The shape as the catalogue, or a Hugging Face file, gives it.
    """

    model: Model

    @property
    def num_moe_layers(self) -> int:
        """Layers whose feed-forward block is a mixture of experts."""
        model = self.model
        if model.pattern:
            return model.pattern.count(EXPERTS)
        if not model.num_experts:
            return 0
        return (model.num_layers - model.first_dense_layers) // model.expert_interval

    @property
    def num_dense_layers(self) -> int:
        """Layers with one feed-forward block for all tokens."""
        return self.model.num_layers - self.num_moe_layers

    def has_experts(self, layer: int) -> bool:
        """Return whether *layer*, from 0, is a mixture of experts."""
        if self.model.pattern:
            return self.model.pattern[layer] == EXPERTS
        after = layer + 1 - self.model.first_dense_layers
        return bool(
            self.model.num_experts and after > 0 and after % self.model.expert_interval == 0
        )

    def most_moe_layers(self, layers: int) -> int:
        """Return how many of *layers* in a row have experts, at most."""
        if self.model.pattern:
            return _most(self.model.pattern, EXPERTS, layers)
        return min(math.ceil(layers / self.model.expert_interval), self.num_moe_layers)

    def attention_share(self, *, moe: bool) -> float:
        """Return the share of layers, with experts or without, that have attention."""
        if self.model.pattern:
            return 0.0 if moe else self._part(ATTENTION)
        return 1 / self.model.attention_interval

    def linear_share(self, *, moe: bool) -> float:
        """Return the share of layers, with experts or without, that pass a state along."""
        if self.model.pattern:
            return 0.0 if moe else self._part(LINEAR)
        return 1 - self.attention_share(moe=moe)

    def block_share(self, *, moe: bool) -> float:
        """Return the share of layers, with experts or without, that have a feed-forward block."""
        return self._part(FEED_FORWARD) if self.model.pattern and not moe else 1.0

    def _part(self, letter: str) -> float:
        """Return the share of one kind in the layers without experts."""
        return self.model.pattern.count(letter) / max(1, self.num_dense_layers)

    @property
    def num_attention_layers(self) -> float:
        """Layers with attention, the mean where pipeline stages differ."""
        return sum(
            count * self.attention_share(moe=moe)
            for moe, count in ((False, self.num_dense_layers), (True, self.num_moe_layers))
        )

    @property
    def num_linear_layers(self) -> float:
        """Layers that pass a state along."""
        return sum(
            count * self.linear_share(moe=moe)
            for moe, count in ((False, self.num_dense_layers), (True, self.num_moe_layers))
        )

    @property
    def expert_input(self) -> int:
        """Width of a token as its experts take it."""
        return self.model.expert_latent or self.model.hidden

    @property
    def is_mla(self) -> bool:
        """Whether keys and values are compressed (multi-head latent attention)."""
        return self.model.kv_rank > 0

    @property
    def query_head_dim(self) -> int:
        """Width of one head of the queries and keys; MLA appends the rotary part."""
        return self.model.head_dim + (self.model.rope_head_dim if self.is_mla else 0)

    @property
    def value_head_dim(self) -> int:
        """Width of one head of the values and of the attention's output."""
        return self.model.value_head_dim if self.is_mla else self.model.head_dim

    @property
    def query_width(self) -> int:
        """All heads of the queries side by side."""
        return self.model.num_heads * self.query_head_dim

    @property
    def output_width(self) -> int:
        """All heads of the attention's output side by side."""
        return self.model.num_heads * self.value_head_dim

    @property
    def num_core_kv_heads(self) -> int:
        """Heads of the keys and values that enter the attention; MLA expands them to all."""
        return self.model.num_heads if self.is_mla else self.model.num_kv_heads

    @property
    def kv_width(self) -> int:
        """Keys and values of one token as they enter the attention."""
        return self.num_core_kv_heads * (self.query_head_dim + self.value_head_dim)

    def kv_width_of_rank(self, tensor: int) -> float:
        """Return the keys and values that one of *tensor* ranks holds: at least one head."""
        heads = max(1.0, self.num_core_kv_heads / tensor)
        return heads * (self.query_head_dim + self.value_head_dim)

    @property
    def num_ffn_matrices(self) -> int:
        """Matrices of a feed-forward block: three when gated, else two."""
        return 3 if self.model.gated else 2

    @property
    def num_halves(self) -> int:
        """Parts of a layer that tensor ranks enter and leave together."""
        blocks = self.model.diffusion
        if blocks is None:
            return 1 if self.model.pattern else 2
        return 2 + (blocks.kind == "cross") + blocks.num_singles


@lru_cache(maxsize=256)
def _most(pattern: str, letter: str, layers: int) -> int:
    """Return how often *letter* is in *layers* places of *pattern* in a row, at most."""
    ends = range(max(1, len(pattern) - layers + 1))
    return max(pattern[first : first + layers].count(letter) for first in ends)


def transformer(model: Model) -> Transformer:
    """Return *model* as a transformer whose fields agree with one another.

    Raises:
        SpecError: heads, experts or ranks of *model* contradict one another.
    """
    where = f"model {model.name}"
    if model.num_heads % model.num_kv_heads:
        raise SpecError(
            what=(
                f"{where}: {model.num_heads} heads cannot share {model.num_kv_heads} "
                "key-value heads"
            ),
            remedy="num_kv_heads must divide num_heads",
        )
    if model.first_dense_layers > model.num_layers:
        raise SpecError(
            what=f"{where}: first_dense_layers is {model.first_dense_layers}, more than its "
            f"{model.num_layers} layers"
        )
    if model.kv_rank and not (model.rope_head_dim and model.value_head_dim):
        raise SpecError(what=f"{where}: kv_rank (MLA) also needs rope_head_dim and value_head_dim")
    return Transformer(model=model)
