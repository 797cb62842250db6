"""The kernels of diffusion transformer blocks as PyTorch runs them on one GPU.

A block's norms are scaled and shifted, and its two halves gated, by vectors that one product
makes from the conditioning (adaLN, arXiv:2212.09748); attention has no mask. ``dit`` is one
stream; ``mmdit`` two, image and text, with one attention over both (arXiv:2403.03206); ``single``
takes attention and feed-forward block from one product over both streams joined (FLUX.1);
``video`` adds attention to the text's tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.compute.kernels import Kernel
from netloom.compute.layers import passes, product, product_gradients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.compute.layers import Mode

__all__ = ["DiffusionBlock", "DiffusionKind"]

DiffusionKind = Literal["dit", "mmdit", "single", "video"]
# Kernels of a rotation in fp32, each as its like in the tables, and passes of 16 bits.
ROTATION: Final = (
    ("residual_add", 3),
    ("strided", 2),
    ("joined", 4),
    ("modulate", 4),
    ("modulate", 4),
    ("residual_add", 6),
    ("residual_add", 3),
)
NUM_VECTORS: Final = {"dit": 6, "mmdit": 6, "single": 3, "video": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionBlock:
    """One block on one GPU.

    Attributes:
        tokens: Of the latent of one sample.
        text_tokens: Of the text that goes with it.
        context: GPUs that share a sample's tokens, and the heads while they attend (Ulysses).
        normed_heads: Whether queries and keys are normed and rotated; forward only.
    """

    kind: DiffusionKind
    hidden: int
    num_heads: int
    ffn_hidden: int
    micro_batch: int
    tokens: int
    text_tokens: int
    mode: Mode
    context: int = 1
    normed_heads: bool = False

    @property
    def streams(self) -> tuple[int, ...]:
        """Tokens of each stream that has matrices of its own, all samples of one GPU together."""
        if self.kind == "single":
            return (self._own(self.tokens + self.text_tokens),)
        image = self._own(self.tokens)
        return (image, self._own(self.text_tokens)) if self.kind == "mmdit" else (image,)

    def _own(self, tokens: int) -> int:
        return self.micro_batch * -(-tokens // self.context)

    @property
    def ffn_width(self) -> int:
        """Width of the feed-forward block as it runs: torch.compile pads it to whole words."""
        return math.ceil(self.ffn_hidden / 8) * 8 if self.fuses else self.ffn_hidden

    @property
    def fuses(self) -> bool:
        """Whether runs of memory-bound operators are one kernel."""
        return self.mode == "compiled"

    def forward(self) -> Iterator[Kernel]:
        """Yield the kernels of the forward pass."""
        yield from self._vectors()
        if self.kind == "single":
            yield from self._single_forward()
            return
        for tokens in self.streams:
            yield from self._modulated_norm(tokens)
            yield product(tokens, 3 * self.hidden, self.hidden)
        yield from self._attend()
        for tokens in self.streams:
            yield from self._attention_out(tokens)
            if self.kind == "video":
                yield from self._cross_forward(tokens)
            yield from self._modulated_norm(tokens, after_sum=True)
            yield product(tokens, self.ffn_width, self.hidden)
            yield self._gelu(tokens * self.ffn_width)
            yield product(tokens, self.hidden, self.ffn_width)
            yield from self._gated_sum(tokens)

    def again(self) -> Iterator[Kernel]:
        """Yield what recomputation runs again: all but the last sum, of which nothing is saved."""
        yield from list(self.forward())[:-1]

    def backward(self) -> Iterator[Kernel]:
        """Yield the kernels of the backward pass."""
        if self.kind == "single":
            yield from self._single_backward()
            return
        for tokens in self.streams:
            yield from self._gate_backward(tokens)
            yield from self._linear_backward(tokens, self.hidden, self.ffn_width)
            yield self._gelu_backward(tokens * self.ffn_width)
            yield from self._linear_backward(tokens, self.ffn_width, self.hidden)
            yield from self._norm_backward(tokens)
            if self.kind == "video":
                yield from self._cross_backward(tokens)
            yield from self._gate_backward(tokens)
            yield from self._linear_backward(tokens, self.hidden, self.hidden)
        yield from self._attend_backward()
        for tokens in self.streams:
            yield self._join(tokens * 3 * self.hidden)
            yield from self._linear_backward(tokens, 3 * self.hidden, self.hidden)
            yield from self._norm_backward(tokens)
        yield from self._vectors_backward()

    def _vectors(self) -> Iterator[Kernel]:
        for _ in self.streams:
            yield passes("small", self.micro_batch * self.hidden, 2)
            yield product(self.micro_batch, NUM_VECTORS[self.kind] * self.hidden, self.hidden)

    def _vectors_backward(self) -> Iterator[Kernel]:
        width = NUM_VECTORS[self.kind] * self.hidden
        for _ in self.streams:
            yield passes("small", self.micro_batch * width, 2)
            yield from product_gradients(self.micro_batch, width, self.hidden)
            yield passes("small", self.micro_batch * width, 2)
            yield passes("small", self.micro_batch * self.hidden, 2)

    def _modulated_norm(self, tokens: int, *, after_sum: bool = False) -> Iterator[Kernel]:
        elements = tokens * self.hidden
        if self.fuses:  # the gated sum before it as well
            yield passes("compiled_norm", elements, 5 if after_sum else 2, self.hidden)
            return
        yield passes("layernorm", elements, 2, self.hidden)
        yield passes("small", self.micro_batch * self.hidden, 2)
        for _ in ("scale", "shift"):
            yield passes("modulate", elements, 2, self.hidden)

    def _gated_sum(self, tokens: int) -> Iterator[Kernel]:
        elements = tokens * self.hidden
        if self.fuses:
            yield passes("compiled_add", elements, 3, self.hidden)
            return
        yield passes("modulate", elements, 2, self.hidden)
        yield passes("residual_add", elements, 3, self.hidden)

    def _attention_out(self, tokens: int) -> Iterator[Kernel]:
        elements = tokens * self.hidden
        if len(self.streams) > 1:  # each stream's part is copied out, its bias added apart
            yield self._copy(elements)
        yield product(tokens, self.hidden, self.hidden)
        if self.fuses:
            return
        if len(self.streams) > 1:
            yield passes("modulate", elements, 2, self.hidden)
        yield from self._gated_sum(tokens)

    def _shape(self, keys: float = 0.0) -> tuple[float, ...]:
        tokens = self.tokens + (self.text_tokens if self.kind in {"mmdit", "single"} else 0)
        size = self.hidden / self.num_heads
        heads = self.num_heads / self.context
        return (self.micro_batch, tokens, heads, size, keys or tokens)

    def _attend(self) -> Iterator[Kernel]:
        elements = sum(self.streams) * self.hidden
        two = len(self.streams) > 1
        for _ in ("queries", "keys", "values") if two else ():
            if self.fuses:
                yield passes("compiled_add", elements, 2, self.hidden)
            else:
                yield passes("joined_streams", elements, 2, self.hidden)
        yield from self._turned(joined=two)
        yield Kernel(operator="full_attention_forward", shape=self._shape())
        if two and not self.fuses:
            yield passes("modulate", elements, 2, self.hidden)

    def _turned(self, *, joined: bool = False) -> Iterator[Kernel]:
        """Yield norms and rotation of queries and keys; compiled, the join does both.

        In eager mode the rotation is in fp32: to it, the negated halves, joined, two products, a
        sum, and back (diffusers' apply_rotary_emb).
        """
        if not self.normed_heads or (joined and self.fuses):
            return
        elements, size = sum(self.streams) * self.hidden, self.hidden // self.num_heads
        for _ in ("queries", "keys"):
            if self.fuses:
                yield passes("compiled_norm", elements, 2, size)
                continue
            yield passes("head_norm", elements, 2, size)
            for like, count in ROTATION:
                yield passes(like, elements, count, self.hidden)

    def _attend_backward(self) -> Iterator[Kernel]:
        elements = sum(self.streams) * self.hidden
        two = len(self.streams) > 1
        if two and not self.fuses:
            for tokens in self.streams:  # a whole gradient for each stream, zero in the other's
                yield passes("residual_add", elements, 1, self.hidden)
                yield passes("modulate", tokens * self.hidden, 2, self.hidden)
            yield passes("residual_add", elements, 3, self.hidden)
        elif two:
            yield passes("compiled_add", elements, 2, self.hidden)
        yield Kernel(operator="full_attention_backward", shape=self._shape())
        for _ in ("queries", "keys", "values") if two and not self.fuses else ():
            yield passes("modulate", elements, 2, self.hidden)

    def _cross_forward(self, tokens: int) -> Iterator[Kernel]:
        elements, text = tokens * self.hidden, self.micro_batch * self.text_tokens
        if self.fuses:  # the gated sum and the norm
            yield passes("compiled_norm", elements, 5, self.hidden)
        else:
            yield passes("layernorm", elements, 2, self.hidden)
        yield product(tokens, self.hidden, self.hidden)
        yield product(text, 2 * self.hidden, self.hidden)
        yield Kernel(operator="full_attention_forward", shape=self._shape(self.text_tokens))
        yield product(tokens, self.hidden, self.hidden)
        if not self.fuses:
            yield passes("residual_add", elements, 3, self.hidden)

    def _cross_backward(self, tokens: int) -> Iterator[Kernel]:
        elements, text = tokens * self.hidden, self.micro_batch * self.text_tokens
        yield from self._linear_backward(tokens, self.hidden, self.hidden)
        yield Kernel(operator="full_attention_backward", shape=self._shape(self.text_tokens))
        yield self._join(text * 2 * self.hidden)
        yield from self._linear_backward(text, 2 * self.hidden, self.hidden)
        yield from self._linear_backward(tokens, self.hidden, self.hidden)
        if self.fuses:
            for count in (4, 2):
                yield passes("compiled_norm_backward", elements, count, self.hidden)
            return
        for count in (3, 2):
            yield passes("layernorm_backward", elements, count, self.hidden)
        yield passes("residual_add", elements, 3, self.hidden)

    def _single_forward(self) -> Iterator[Kernel]:
        (tokens,) = self.streams
        hidden, wide = self.hidden, self.ffn_width
        yield from self._modulated_norm(tokens)
        yield product(tokens, 3 * hidden + wide, hidden)
        yield from self._turned()
        yield Kernel(operator="full_attention_forward", shape=self._shape())
        if self.fuses:
            yield passes("gelu", tokens * (hidden + wide), 2, hidden + wide)
        else:
            yield passes("strided", tokens * wide, 2, wide)  # a part of the product's rows
            yield self._join(tokens * (hidden + wide))
        yield product(tokens, hidden, hidden + wide)
        yield from self._gated_sum(tokens)

    def _single_backward(self) -> Iterator[Kernel]:
        (tokens,) = self.streams
        hidden, wide = self.hidden, self.ffn_width
        yield from self._gate_backward(tokens)
        yield from self._linear_backward(tokens, hidden, hidden + wide)
        if not self.fuses:
            yield passes("strided_backward", tokens * wide, 2, wide)
        yield Kernel(operator="full_attention_backward", shape=self._shape())
        if self.fuses:
            yield passes("gelu_backward", tokens * (3 * hidden + wide), 3, wide)
        else:
            yield self._join(tokens * 3 * hidden)
            yield self._join(tokens * (3 * hidden + wide))
        yield from self._linear_backward(tokens, 3 * hidden + wide, hidden)
        yield from self._norm_backward(tokens)
        yield from self._vectors_backward()

    def _gate_backward(self, tokens: int) -> Iterator[Kernel]:
        elements = tokens * self.hidden
        if self.fuses:
            yield passes("compiled_add", elements, 4, self.hidden)
            return
        yield passes("modulate", elements, 2, self.hidden)
        yield passes("residual_add", elements, 3, self.hidden)
        yield passes("batch_sum", elements, 1, self.hidden)

    def _norm_backward(self, tokens: int) -> Iterator[Kernel]:
        elements = tokens * self.hidden
        if self.fuses:
            for count in (4, 3):
                yield passes("compiled_norm_backward", elements, count, self.hidden)
            return
        yield passes("batch_sum", elements, 1, self.hidden)
        yield passes("residual_add", elements, 3, self.hidden)
        yield passes("modulate", elements, 2, self.hidden)
        yield passes("batch_sum", elements, 1, self.hidden)
        yield passes("layernorm_backward", elements, 3, self.hidden)
        yield passes("residual_add", elements, 3, self.hidden)

    def _linear_backward(self, tokens: int, columns: float, inner: float) -> Iterator[Kernel]:
        yield from product_gradients(tokens, columns, inner)
        like = "compiled_add" if self.fuses else "batch_sum"
        yield passes(like, tokens * columns, 1, columns)

    def _gelu(self, elements: float) -> Kernel:
        return passes("gelu", elements, 2, self.ffn_width)

    def _gelu_backward(self, elements: float) -> Kernel:
        return passes("gelu_backward", elements, 3, self.ffn_width)

    def _copy(self, elements: float) -> Kernel:
        like = "compiled_add" if self.fuses else "modulate"
        return passes(like, elements, 2, self.hidden)

    def _join(self, elements: float) -> Kernel:
        return passes("compiled_add" if self.fuses else "joined", elements, 2, self.hidden)
