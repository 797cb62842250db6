"""The kernels of a mixture-of-experts block as PyTorch runs it on one GPU.

Router, sort, permute, experts, unpermute and the shared experts; each forward and backward.
``eager`` and ``graph`` launch the same kernels, ``compiled`` fuses what lies between products. What
each runs was read from profiles (docs/models/compute.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.compute.kernels import Kernel
from netloom.compute.layers import BYTES, passes, product, product_gradients

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BlockMode", "ExpertKernel", "Mixture", "Router"]

BlockMode = Literal["eager", "compiled", "graph"]
ExpertKernel = Literal["grouped_mm", "loop", "bmm", "fp8_rowwise"]
Router = Literal["softmax", "sigmoid_group"]

NUM_ROUTER_GROUPS: Final = 8  # DeepSeek-V3 (arXiv:2412.19437, section 2.1.2)
# torch.topk reads each row in a block of its own: 0.052 ns a value, and 1.8 ns a row at least, of
# twenty routers of 8 to 384 experts on one H200; as values of 4 bytes at 77 GB/s.
TOP_K_LEAST: Final = 35
VALUE_BYTES: Final = 4
# A radix sort of 64-bit keys with their places: eight passes, each reads and writes both.
RADIX_PASSES: Final = 8
PAIR_BYTES: Final = 32
# Copying rows to several places writes at 2.8 TB/s and reads what the cache does not hold at 6.1
# (six shapes profiled on one H200); 50 MB of cache, as in NVIDIA's data sheet.
READ_SHARE: Final = 2.8 / 6.1
CACHE_BYTES: Final = 50e6
# A sum over a token's experts loads four of them at a time, and pays as much as for 1 1/3 more
# loads however few they are (compute/data/h200_profiled.csv, slot_sum; 1 to 10 experts).
LOADS_AT_ONCE: Final = 4
SUM_START: Final = 4 / 3
# torch.compile unrolls a sum over fewer than this many values (inductor's
# unroll_reductions_threshold) and else runs a reduction that reads memory badly.
UNROLLED: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """One block on one GPU.

    Attributes:
        hidden: Width of a token.
        expert_hidden: Width of an expert.
        num_experts: All that the router chooses from.
        top_k: Experts a token goes to.
        tokens: That the router sees.
        counts: Rows of each expert that is here.
        shared_hidden: Width of the experts that every token goes to; 0 without.
    """

    hidden: int
    expert_hidden: int
    num_experts: int
    top_k: int
    tokens: int
    counts: tuple[float, ...]
    shared_hidden: int = 0
    router: Router = "softmax"
    experts: ExpertKernel = "grouped_mm"
    mode: BlockMode = "eager"

    @property
    def rows(self) -> float:
        """Rows that the experts see: a token as often as it has experts."""
        return sum(self.counts) if self.counts else float(self.tokens * self.top_k)

    @property
    def fuses(self) -> bool:
        """Whether runs of memory-bound operators are one kernel."""
        return self.mode == "compiled"

    def forward(self) -> Iterator[Kernel]:
        """Yield the kernels of the whole block."""
        yield from self.router_forward()
        yield from self.sort()
        yield from self.permute_forward()
        yield from self.experts_forward()
        yield from self.unpermute_forward()
        if self.shared_hidden:
            yield from self._shared_forward()

    def backward(self) -> Iterator[Kernel]:
        """Yield the kernels of the block's backward pass."""
        if self.shared_hidden:
            yield from self._shared_backward()
        yield from self.unpermute_backward()
        yield from self.experts_backward()
        yield from self.permute_backward(index_add=False)
        yield from self.router_backward()
        for _ in range(2 if self.shared_hidden else 1):  # gradients that meet at the input
            yield self._add(self.tokens)

    def router_forward(self) -> Iterator[Kernel]:
        """Yield scores, their choice and the weights of the chosen."""
        scores = self.tokens * self.num_experts
        yield product(self.tokens, self.num_experts, self.hidden)
        if self.router == "softmax":
            yield passes("small", scores, 3)
            yield passes("small", scores, 4)
            yield from self._top_k(self.tokens, self.num_experts)
            yield from self._small(2)
            return
        yield passes("small", scores, 3)
        yield passes("small", scores, 4)
        yield passes("small", scores, 4)
        groups = self.tokens * NUM_ROUTER_GROUPS
        yield from self._top_k(groups, self.num_experts / NUM_ROUTER_GROUPS)
        yield from self._top_k(self.tokens, NUM_ROUTER_GROUPS)
        yield from self._small(3)
        for count in (4, 3, 3, 4):  # the mask of the groups left out, spread and applied
            yield passes("small", scores, count)
        yield from self._top_k(self.tokens, self.num_experts)
        yield from self._small(4)

    def router_backward(self) -> Iterator[Kernel]:
        """Yield the gradients of the router's scores, input and weight."""
        scores = self.tokens * self.num_experts
        yield from self._small(9)
        for count in (2, 4, 6, 3):
            yield passes("small", scores, count)
        yield from product_gradients(self.tokens, self.num_experts, self.hidden)

    def sort(self) -> Iterator[Kernel]:
        """Yield the sort of all rows by expert, and the count of each expert's."""
        for _ in range(RADIX_PASSES + 1):
            yield Kernel(operator="radix", size_bytes=PAIR_BYTES * self.rows)
        yield from self._small(8)

    def permute_forward(self) -> Iterator[Kernel]:
        """Yield the copy of each token to the places of its experts."""
        yield from self._small(1)
        source_bytes = BYTES * self.tokens * self.hidden
        missing = source_bytes / (source_bytes + CACHE_BYTES)
        yield passes("spread", self.rows * self.hidden, 1 + READ_SHARE * missing, self.hidden)

    def permute_backward(self, *, index_add: bool) -> Iterator[Kernel]:
        """Yield the sum of a token's gradients: added in place, or gathered and summed."""
        elements = self.rows * self.hidden
        if index_add:
            yield passes("residual_add", self.tokens * self.hidden, 1, self.hidden)
            for _ in range(3):
                yield Kernel(operator="radix", size_bytes=PAIR_BYTES * self.rows)
            yield from self._small(4)
            yield passes("spread_backward", elements, 2, self.hidden)
        elif self.fuses:
            yield from self._compiled_sum()
        else:
            yield passes("gather", elements, 2, self.hidden)
            yield self._slot_sum()

    def unpermute_forward(self) -> Iterator[Kernel]:
        """Yield the way back: rows to their tokens, times their weights, summed."""
        if self.fuses:
            yield from self._compiled_sum()
            return
        elements = self.rows * self.hidden
        yield passes("gather", elements, 2, self.hidden)
        yield passes("broadcast", elements, 2, self.hidden)
        yield self._slot_sum()

    def unpermute_backward(self) -> Iterator[Kernel]:
        """Yield the gradients of the weights and of the rows."""
        elements = self.rows * self.hidden
        if self.fuses:
            yield passes("compiled_norm_backward", elements, 1 + 1 / self.top_k, self.hidden)
            yield passes("compiled_add", elements, 2, self.hidden)
            return
        yield passes("broadcast", elements, 2.23, self.hidden)  # reads the gradient as well
        yield passes("broadcast", elements, 2, self.hidden)
        yield passes("row_sum", elements, 1, self.hidden)
        yield passes("gather", elements, 2, self.hidden)

    def experts_forward(self) -> Iterator[Kernel]:
        """Yield up, activation and down of every expert."""
        if self.experts == "loop":
            for rows in self.counts:
                yield product(rows, 2 * self.expert_hidden, self.hidden)
                yield from self._activation(rows)
                yield product(rows, self.hidden, self.expert_hidden)
            yield passes("joined", self.rows * self.hidden, 2, self.hidden)
            return
        yield self._product(2 * self.expert_hidden, self.hidden)
        if self.experts != "fp8_rowwise":  # measured without what quantizes between products
            yield from self._activation(self.rows)
        yield self._product(self.hidden, self.expert_hidden)

    def experts_backward(self) -> Iterator[Kernel]:
        """Yield the gradients of every expert's input and matrices."""
        if self.experts == "loop":
            yield from self._loop_backward()
            return
        yield from self._gradients(self.hidden, self.expert_hidden)
        yield from self._activation_backward(self.rows)
        yield from self._gradients(2 * self.expert_hidden, self.hidden)

    def up_forward(self) -> Iterator[Kernel]:
        """Yield the first grouped product alone."""
        yield self._product(2 * self.expert_hidden, self.hidden)

    def up_backward(self) -> Iterator[Kernel]:
        """Yield the gradients of the first grouped product alone."""
        yield from self._gradients(2 * self.expert_hidden, self.hidden)

    def _product(self, columns: float, inner: float) -> Kernel:
        operator = {"bmm": "batched", "fp8_rowwise": "fp8_grouped"}.get(self.experts, "grouped")
        return Kernel(operator=operator, shape=(columns, inner), groups=self.counts)

    def _gradients(self, columns: float, inner: float) -> Iterator[Kernel]:
        yield self._product(inner, columns)
        kind = "batched" if self.experts == "bmm" else "grouped_weights"
        yield Kernel(operator=kind, shape=(columns, inner), groups=self.counts)

    def _loop_backward(self) -> Iterator[Kernel]:
        """Yield the gradients expert by expert.

        Each writes a gradient of all experts' matrices, zero but for its own, and adds it to the
        sum: work that grows with the square of the experts.
        """
        num = len(self.counts)
        for number, rows in enumerate(self.counts):
            for columns, inner in (
                (self.hidden, self.expert_hidden),
                (2 * self.expert_hidden, self.hidden),
            ):
                yield from product_gradients(rows, columns, inner)
                yield passes("residual_add", num * columns * inner, 1)
                yield passes("residual_add", columns * inner, 2)
                if number:
                    yield passes("residual_add", num * columns * inner, 3)
            yield from self._activation_backward(rows)
        yield passes("joined", self.rows * self.hidden, 2, self.hidden)

    def _activation(self, rows: float) -> Iterator[Kernel]:
        elements, width = rows * self.expert_hidden, self.expert_hidden
        if self.fuses:
            yield passes("silu_mul", elements, 3, width)
            return
        # Gate and up are halves of one matrix.
        yield passes("strided", elements, 2, width)
        yield passes("strided_product", elements, 2, width)

    def _activation_backward(self, rows: float) -> Iterator[Kernel]:
        elements, width = rows * self.expert_hidden, self.expert_hidden
        if self.fuses:
            yield passes("compiled_norm_backward", elements, 6, width)
            return
        yield passes("residual_add", elements, 3, width)
        yield passes("strided_product", elements, 2, width)
        yield passes("strided_backward", elements, 2, width)
        yield passes("joined", 2 * elements, 2, 2 * width)

    def _shared_forward(self) -> Iterator[Kernel]:
        width = self.shared_hidden
        yield product(self.tokens, 2 * width, self.hidden)
        yield from self._shared_activation(("strided", 2), ("strided_product", 2))
        yield product(self.tokens, self.hidden, width)
        yield self._add(self.tokens)

    def _shared_backward(self) -> Iterator[Kernel]:
        width = self.shared_hidden
        yield from product_gradients(self.tokens, self.hidden, width)
        yield from self._shared_activation(
            ("residual_add", 3), ("strided_product", 2), ("strided_backward", 2), ("joined", 4)
        )
        yield from product_gradients(self.tokens, 2 * width, self.hidden)

    def _shared_activation(self, *kernels: tuple[str, float]) -> Iterator[Kernel]:
        elements, width = self.tokens * self.shared_hidden, self.shared_hidden
        if self.fuses:
            yield passes("silu_mul", elements, 3 if len(kernels) == 2 else 6, width)
            return
        for like, count in kernels:
            yield passes(like, elements, count, width)

    def _compiled_sum(self) -> Iterator[Kernel]:
        elements = self.tokens * self.hidden * (self.top_k + 1)
        like = "compiled_add" if self.top_k < UNROLLED else "slow_sum"
        yield passes(like, elements, 1, self.hidden)

    def _slot_sum(self) -> Kernel:
        loads = math.ceil(self.top_k / LOADS_AT_ONCE) + SUM_START
        share = loads / (1 + SUM_START)  # the rate is that of four experts
        return passes("slot_sum", self.tokens * self.hidden, 2 * share, self.hidden)

    def _add(self, tokens: float) -> Kernel:
        like = "compiled_add" if self.fuses else "residual_add"
        return passes(like, tokens * self.hidden, 3, self.hidden)

    def _top_k(self, rows: float, values: float) -> Iterator[Kernel]:
        yield Kernel(operator="top_k", size_bytes=VALUE_BYTES * rows * max(values, TOP_K_LEAST))
        yield Kernel(operator="pair_sort", size_bytes=VALUE_BYTES * rows)

    def _small(self, count: int) -> Iterator[Kernel]:
        """Yield kernels on a few values a token, half of them where they are fused."""
        for _ in range(math.ceil(count / 2) if self.fuses else count):
            yield passes("small", self.tokens * self.top_k, 4)
