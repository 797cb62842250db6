"""The kernels of attention blocks as PyTorch runs them on one GPU: grouped queries and latent.

A block is norm, projections, rotary embedding, attention, output projection and residual sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.compute.kernels import Kernel
from netloom.compute.layers import passes, product, product_gradients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.compute.layers import LlamaLayer

__all__ = ["GroupedQueryBlock", "LatentBlock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedQueryBlock:
    """The attention half of a Llama layer.

    Attributes:
        head_norms: Whether queries and keys are normalised head by head (Qwen3).
    """

    layer: LlamaLayer
    head_norms: bool = False

    def forward(self) -> Iterator[Kernel]:
        """Yield the kernels of the forward pass."""
        layer = self.layer
        kernels = list(layer.forward())
        core = next(n for n, kernel in enumerate(kernels) if kernel.is_attention)
        products = sum(kernel.is_product for kernel in kernels[:core])
        at = [n for n, kernel in enumerate(kernels) if kernel.is_product][products - 1] + 1
        yield from kernels[:at]
        if self.head_norms and layer.mode == "eager":
            for width in (layer.query_width, layer.kv_width):
                yield passes("head_norm", layer.tokens * width, 2, layer.head_dim)
        yield from kernels[at : core + 2]
        yield kernels[-1]

    def backward(self) -> Iterator[Kernel]:
        """Yield the kernels of the backward pass."""
        layer = self.layer
        kernels = list(layer.backward())
        core = next(n for n, kernel in enumerate(kernels) if kernel.is_attention)
        rest = kernels[core:]
        last = next(n for n, kernel in enumerate(rest) if kernel.is_product)
        yield from kernels[core - 2 : core]  # of the output projection
        yield from rest[:last]
        if self.head_norms and layer.mode == "eager":
            for width in (layer.query_width, layer.kv_width):
                yield passes("head_norm_backward", layer.tokens * width, 5, layer.head_dim)
        yield from rest[last:]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentBlock:
    """Multi-head latent attention: queries, keys and values from compressed ones.

    Attributes:
        pads_values: Whether values are padded to the keys' width, as most kernels need.
    """

    hidden: int
    num_heads: float
    query_rank: int
    kv_rank: int
    head_dim: int
    rope_head_dim: int
    value_head_dim: int
    tokens: int
    sequence: int
    pads_values: bool
    compiled: bool = False

    @property
    def key_dim(self) -> int:
        """Width of a head's query and key."""
        return self.head_dim + self.rope_head_dim

    def forward(self) -> Iterator[Kernel]:
        """Yield the kernels of the forward pass."""
        tokens, hidden = self.tokens, self.hidden
        latent = self.kv_rank + self.rope_head_dim
        yield self._pass("rmsnorm", tokens * hidden, 2)
        yield product(tokens, self.query_rank, hidden)
        yield self._pass("rmsnorm", tokens * self.query_rank, 2)
        yield product(tokens, self.num_heads * self.key_dim, self.query_rank)
        yield product(tokens, latent, hidden)
        yield self._pass("rmsnorm", tokens * self.kv_rank, 2)
        yield product(tokens, self._kv_width, self.kv_rank)
        yield from self._rotate("rotary")
        yield from self._join()
        yield self.core("forward")
        yield self._copy(self.num_heads * self.value_head_dim)
        yield product(tokens, hidden, self.num_heads * self.value_head_dim)
        yield self._pass("residual_add", tokens * hidden, 3)

    def backward(self) -> Iterator[Kernel]:
        """Yield the kernels of the backward pass."""
        tokens, hidden = self.tokens, self.hidden
        keys, latent = self.num_heads * self.key_dim, self.kv_rank + self.rope_head_dim
        yield from product_gradients(tokens, hidden, self.num_heads * self.value_head_dim)
        if self.pads_values:
            yield from self._pad()
        yield self.core("backward")
        if self.pads_values:
            yield self._copy(self.num_heads * self.value_head_dim)
        yield from self._rotate("rotary_backward")
        for width in (self._kv_width, keys):  # the halves of keys and values, of queries, joined
            if not self.compiled:
                yield passes("joined_heads", tokens * width, 2, width)
            yield self._copy(width)
        yield from product_gradients(tokens, self._kv_width, self.kv_rank)
        yield from self._norm_backward(self.kv_rank)
        yield from product_gradients(tokens, latent, hidden)
        yield from product_gradients(tokens, keys, self.query_rank)
        yield from self._norm_backward(self.query_rank)
        yield from product_gradients(tokens, self.query_rank, hidden)
        yield self._pass("residual_add", tokens * hidden, 3)
        yield from self._norm_backward(hidden)
        yield self._pass("residual_add", tokens * hidden, 3)

    @property
    def _kv_width(self) -> float:
        return self.num_heads * (self.head_dim + self.value_head_dim)

    def _rotate(self, like: str) -> Iterator[Kernel]:
        elements = self.tokens * self.num_heads * self.rope_head_dim
        if self.compiled:
            return  # part of what joins the halves
        for count in (2, 1, 2, 2, 3):
            yield passes(like, elements, count)

    def _join(self) -> Iterator[Kernel]:
        """Yield queries and keys made whole: the part without rotary embedding and that with."""
        width = self.num_heads * self.key_dim
        for _ in ("queries", "keys"):
            if self.compiled:
                yield passes("compiled_add", self.tokens * width, 2)
            else:
                yield passes("joined_heads", self.tokens * width, 2, width)
        if self.pads_values:
            yield from self._pad()

    def _pad(self) -> Iterator[Kernel]:
        padded = self.tokens * self.num_heads * self.key_dim
        if self.compiled:
            yield passes("compiled_add", padded, 2)
            return
        yield passes("residual_add", padded, 1)
        yield self._copy(self.num_heads * self.value_head_dim)

    def core(self, which: str) -> Kernel:
        """Return attention itself, ``forward`` or ``backward``."""
        kind = "attention" if self.pads_values else "latent_attention"
        shape = (self.tokens / self.sequence, self.sequence, self.num_heads, self.key_dim)
        return Kernel(operator=f"{kind}_{which}", shape=shape)

    def _copy(self, width: float) -> Kernel:
        return passes(
            "compiled_add" if self.compiled else "broadcast", self.tokens * width, 2, width
        )

    def _pass(self, like: str, elements: float, count: float) -> Kernel:
        names = {"rmsnorm": "compiled_norm", "residual_add": "compiled_add"}
        return passes(names.get(like, like) if self.compiled else like, elements, count)

    def _norm_backward(self, width: float) -> Iterator[Kernel]:
        like = "compiled_norm_backward" if self.compiled else "rmsnorm_backward"
        for count in (3, 2):
            yield passes(like, self.tokens * width, count, width)
