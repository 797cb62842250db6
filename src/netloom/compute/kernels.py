"""Kernels: what a GPU runs, one after the other, when PyTorch runs a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Kernel"]

# Attention of one H200, 16,384 and 32,768 tokens, head size 128: calls of up to 5.1 ms run at
# 650 TFLOP/s forward, of 7.2 ms at 613, of 14.8 ms at 596; backward 583, and 521 to 538 from
# 15.5 ms. The GPU holds its boost clock for a short call and is held to its power limit in a
# long one; between 5 and 15 ms the table has both.
BURST_S: Final = 5.1e-3
SUSTAINED_S: Final = 15e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel of a call.

    Attributes:
        operator: What it is, as in the tables; for a memory-bound kernel, the measured operator
            whose rate it has.
        shape: Of a product or an attention, as in the tables; else the columns of a row, alone.
        size_bytes: What a memory-bound kernel moves.
    """

    operator: str
    shape: tuple[float, ...] = ()
    size_bytes: float = 0.0

    @property
    def is_product(self) -> bool:
        """Whether it is a matrix product."""
        return self.operator.startswith("gemm")

    @property
    def is_attention(self) -> bool:
        """Whether it is fused attention."""
        return self.operator.startswith("attention")
