"""The kernels of transformer layers as PyTorch runs them, on one GPU of a tensor-parallel group.

Bytes are counted from what each kernel reads and writes in 16 bits. ``eager`` launches every
operator by itself; ``compiled`` (torch.compile) fuses runs of memory-bound operators into one
kernel that reads its inputs and writes its outputs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.compute.kernels import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GptLayer", "GptStep", "LlamaLayer", "Mode"]

Mode = Literal["eager", "compiled"]

BYTES: Final = 2  # of a bf16 value


def product(rows: float, columns: float, inner: float) -> Kernel:
    """Return the forward product of a linear layer."""
    return Kernel(operator="gemm_tn", shape=(rows, columns, inner))


def product_gradients(rows: float, columns: float, inner: float) -> tuple[Kernel, Kernel]:
    """Return the gradients of a linear layer's input and weight."""
    return (
        Kernel(operator="gemm_nn", shape=(rows, inner, columns)),
        Kernel(operator="gemm_nt", shape=(columns, inner, rows)),
    )


def passes(like: str, elements: float, count: float, columns: float = 0.0) -> Kernel:
    """Return a memory-bound kernel that moves *count* times *elements* values."""
    return Kernel(operator=like, shape=(columns,), size_bytes=BYTES * count * elements)


@dataclass(frozen=True, slots=True, kw_only=True)
class GptLayer:
    """A GPT layer's share: LayerNorm, biases, GELU, no dropout, eager."""

    hidden: int
    num_heads: int
    tensor: int
    micro_batch: int
    sequence: int

    @property
    def tokens(self) -> int:
        """Tokens of the micro-batch."""
        return self.micro_batch * self.sequence

    @property
    def attention_shape(self) -> tuple[float, ...]:
        """Batch, sequence, heads of this share, head size."""
        heads = self.num_heads / self.tensor
        return (self.micro_batch, self.sequence, heads, self.hidden / self.num_heads)

    def forward(self) -> Iterator[Kernel]:
        """Yield the kernels of the forward pass."""
        tokens, hidden, wide = self.tokens, self.hidden, 4 * self.hidden / self.tensor
        norm = passes("layernorm", tokens * hidden, 2, hidden)
        add = passes("residual_add", tokens * hidden, 3, hidden)
        yield norm
        yield product(tokens, 3 * hidden / self.tensor, hidden)
        yield Kernel(operator="attention_forward", shape=self.attention_shape)
        yield product(tokens, hidden, hidden / self.tensor)
        yield add
        yield norm
        yield product(tokens, wide, hidden)
        yield passes("gelu", tokens * wide, 2, wide)
        yield product(tokens, hidden, wide)
        yield add

    def backward(self) -> Iterator[Kernel]:
        """Yield the kernels of the backward pass: gradients of the input and all parameters."""
        tokens, hidden, wide = self.tokens, self.hidden, 4 * self.hidden / self.tensor
        yield from self._linear(hidden, wide)
        yield passes("gelu_backward", tokens * wide, 3, wide)
        yield from self._linear(wide, hidden)
        yield from _norm_backward("layernorm", tokens, hidden)
        yield from self._linear(hidden, hidden / self.tensor)
        yield Kernel(operator="attention_backward", shape=self.attention_shape)
        # Gradients of queries, keys and values are put side by side.
        yield passes("residual_add", 3 * tokens * hidden / self.tensor, 2, hidden)
        yield from self._linear(3 * hidden / self.tensor, hidden)
        yield from _norm_backward("layernorm", tokens, hidden)

    def _linear(self, columns: float, inner: float) -> Iterator[Kernel]:
        yield from product_gradients(self.tokens, columns, inner)
        yield passes("bias_gradient", self.tokens * columns, 1, columns)


def _norm_backward(like: str, tokens: float, hidden: float) -> Iterator[Kernel]:
    """Yield a norm's gradients, and their sum with the gradient that came past it."""
    like = f"{like}_backward"
    yield passes(like, tokens * hidden, 3, hidden)  # of the input: reads two, writes one
    yield passes(like, tokens * hidden, 2, hidden)  # of scale and shift: reads two
    yield passes("residual_add", tokens * hidden, 3, hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaLayer:
    """A Llama layer's share: RMSNorm, rotary embedding written out, grouped queries, SwiGLU."""

    hidden: int
    num_heads: int
    num_kv_heads: int
    ffn_hidden: int
    tensor: int
    micro_batch: int
    sequence: int
    mode: Mode
    head_dim: int = 128

    @property
    def tokens(self) -> int:
        """Tokens of the micro-batch."""
        return self.micro_batch * self.sequence

    @property
    def query_width(self) -> float:
        """Width of this share's queries."""
        return self.num_heads / self.tensor * self.head_dim

    @property
    def kv_width(self) -> float:
        """Width of this share's keys, and of its values: at least one head."""
        return max(1.0, self.num_kv_heads / self.tensor) * self.head_dim

    @property
    def ffn_width(self) -> float:
        """Width of this share's feed-forward block."""
        return self.ffn_hidden / self.tensor

    @property
    def attention_shape(self) -> tuple[float, ...]:
        """Batch, sequence, heads of this share, head size."""
        return (self.micro_batch, self.sequence, self.num_heads / self.tensor, self.head_dim)

    def forward(self) -> Iterator[Kernel]:
        """Yield the kernels of the forward pass."""
        tokens, hidden = self.tokens, self.hidden
        compiled = self.mode == "compiled"
        norm = passes("compiled_norm" if compiled else "rmsnorm", tokens * hidden, 2, hidden)
        add = passes("compiled_add" if compiled else "residual_add", tokens * hidden, 3, hidden)
        yield norm
        for width in (self.query_width, self.kv_width, self.kv_width):
            yield product(tokens, width, hidden)
        for width in (self.query_width, self.kv_width):
            yield from self._rotary(width)
        yield Kernel(operator="attention_forward", shape=self.attention_shape)
        yield product(tokens, hidden, self.query_width)
        if compiled:  # the sum and the norm that follows it are one kernel
            yield passes("compiled_add_norm", tokens * hidden, 4, hidden)
        else:
            yield add
            yield norm
        yield product(tokens, self.ffn_width, hidden)
        yield product(tokens, self.ffn_width, hidden)
        yield from self._swiglu()
        yield product(tokens, hidden, self.ffn_width)
        yield add

    def again(self) -> Iterator[Kernel]:
        """Yield what recomputation runs again: all that the backward pass needs.

        The last product and sum are not: nothing is saved from them (torch.utils.checkpoint
        stops early).
        """
        yield from list(self.forward())[:-2]

    def backward(self) -> Iterator[Kernel]:
        """Yield the kernels of the backward pass."""
        tokens, hidden = self.tokens, self.hidden
        yield from product_gradients(tokens, hidden, self.ffn_width)
        yield from self._swiglu_backward()
        yield from product_gradients(tokens, self.ffn_width, hidden)
        yield from product_gradients(tokens, self.ffn_width, hidden)
        yield from self._norm_backward(num_paths=2)
        yield from product_gradients(tokens, hidden, self.query_width)
        yield from self._attention_backward()
        for width in (self.query_width, self.kv_width):
            yield from self._rotary_backward(width)
        for width in (self.query_width, self.kv_width, self.kv_width):
            yield from product_gradients(tokens, width, hidden)
        yield from self._norm_backward(num_paths=3)

    def _attention_backward(self) -> Iterator[Kernel]:
        """Yield attention's gradients; those of shared keys and values are summed over heads."""
        yield Kernel(operator="attention_backward", shape=self.attention_shape)
        if self.query_width > self.kv_width:
            for _ in ("keys", "values"):
                elements = self.tokens * (self.query_width + self.kv_width)
                yield passes("residual_add", elements, 1, self.query_width)

    def _norm_backward(self, *, num_paths: int) -> Iterator[Kernel]:
        """Yield the sum of the gradients of *num_paths* users, and the norm's gradients."""
        elements = self.tokens * self.hidden
        if self.mode == "eager":
            for _ in range(num_paths - 1):
                yield passes("residual_add", elements, 3, self.hidden)
            yield from _norm_backward("rmsnorm", self.tokens, self.hidden)
            return
        # One kernel: reads all gradients and the input, writes one; one for the scale.
        for count in (num_paths + 3, 2):
            yield passes("compiled_norm_backward", elements, count, self.hidden)

    def _rotary(self, width: float) -> Iterator[Kernel]:
        elements = self.tokens * width
        if self.mode == "compiled":
            yield passes("residual_add", elements, 2, width)
            return
        # x cos + cat(-x2, x1) sin: negate half, join, two products, a sum.
        for count in (2, 1, 2, 2, 3):
            yield passes("rotary", elements, count, width)

    def _rotary_backward(self, width: float) -> Iterator[Kernel]:
        elements = self.tokens * width
        if self.mode == "compiled":
            yield passes("residual_add", elements, 2, width)
            return
        # Two products, the negation, the halves joined, a sum.
        for count in (2, 1, 2, 2, 3):
            yield passes("rotary_backward", elements, count, width)

    def _swiglu(self) -> Iterator[Kernel]:
        elements, width = self.tokens * self.ffn_width, self.ffn_width
        if self.mode == "compiled":
            yield passes("silu_mul", elements, 3, width)
            return
        yield passes("silu_mul", elements, 2, width)
        yield passes("silu_mul", elements, 3, width)

    def _swiglu_backward(self) -> Iterator[Kernel]:
        elements, width = self.tokens * self.ffn_width, self.ffn_width
        if self.mode == "compiled":
            yield passes("silu_mul", elements, 5, width)
            return
        for count in (3, 3, 3):  # both factors of the product, then the activation
            yield passes("silu_mul", elements, count, width)


@dataclass(frozen=True, slots=True, kw_only=True)
class GptStep:
    """A whole step of a GPT on one GPU, weights, gradients and optimizer states in bf16, eager.

    Attributes:
        layer: One of its layers, of tensor parallelism 1.
        accumulate: Micro-batches to a step.
        parameters: All of them, for the optimizer.
    """

    layer: GptLayer
    num_layers: int
    vocabulary: int
    accumulate: int
    parameters: int

    def kernels(self) -> Iterator[Kernel]:
        """Yield the kernels of the step: all micro-batches, then the update of the weights."""
        for number in range(self.accumulate):
            yield from self._forward()
            yield from self._backward()
            if number:  # gradients are added to those of the micro-batch before
                yield passes("residual_add", self.parameters, 3)
        # Reads weight, gradient and two states, writes all but the gradient.
        yield passes("adamw_fused_bf16", self.parameters, 7)

    def _forward(self) -> Iterator[Kernel]:
        elements, hidden = self.layer.tokens * self.layer.hidden, self.layer.hidden
        for count in (2, 2, 3):  # look up tokens, positions, and add
            yield passes("residual_add", elements, count, hidden)
        for _ in range(self.num_layers):
            yield from self.layer.forward()
        yield passes("layernorm", elements, 2, hidden)
        yield product(self.layer.tokens, self.vocabulary, hidden)
        # Casts the logits to fp32 and takes the loss; its bytes are counted as the table does.
        yield passes("cross_entropy", self.layer.tokens * self.vocabulary, 1, self.vocabulary)

    def _backward(self) -> Iterator[Kernel]:
        tokens, hidden = self.layer.tokens, self.layer.hidden
        # Of the loss, in fp32: zeros written; two reads and a write; then the cast back.
        for count in (2, 6, 3):
            yield passes("residual_add", tokens * self.vocabulary, count)
        yield from product_gradients(tokens, self.vocabulary, hidden)
        yield from _norm_backward("layernorm", tokens, hidden)
        for _ in range(self.num_layers):
            yield from self.layer.backward()
        # The look-up's gradient: zeros, one row a token, and the sum with that of the logits.
        yield passes("residual_add", self.vocabulary * hidden, 1)
        yield passes("residual_add", tokens * hidden, 3)
        yield passes("residual_add", self.vocabulary * hidden, 3)
