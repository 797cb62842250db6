"""Kernels: what a GPU runs, one after the other, when PyTorch runs a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Kernel"]

# Operators of a table that ran at the boost clock, and those that were held to the power limit.
# Attention of 1 ms and more on one H200, over what shorter calls lead to expect: 1.01 in the median
# up to 3 ms, 1.02 to 5, 1.05 to 7, 1.11 to 11, 1.14 to 15 and 1.17 beyond.
BURST_S: Final = 3e-3
SUSTAINED_S: Final = 15e-3
# How far a GPU at rest is on its way from the boost clock to the power limit after so much load:
# nine loops of products of three sizes on one H200 (PyTorch 2.11), run by run.
LOAD_S: Final = (30e-3, 60e-3, 100e-3, 300e-3, 900e-3)
LIMITED: Final = (0.0, 0.55, 0.80, 0.87, 1.0)
# Calls before the one that is timed, where nothing says how a call was repeated: with it that
# curve has the attention of the first lines half way at its 8.5 ms.
LOOP_RUNS: Final = 6.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel of a call.

    Attributes:
        operator: What it is, as in the tables; for a memory-bound kernel, the measured operator
            whose rate it has.
        shape: Of a product or an attention, as in the tables; of a grouped product the columns
            and inner terms of each matrix; else the columns of a row, alone.
        size_bytes: What a memory-bound kernel moves.
        groups: Rows of each matrix of a grouped product.
    """

    operator: str
    shape: tuple[float, ...] = ()
    size_bytes: float = 0.0
    groups: tuple[float, ...] = ()

    @property
    def is_product(self) -> bool:
        """Whether it is a matrix product."""
        return self.operator.startswith("gemm")

    @property
    def is_attention(self) -> bool:
        """Whether it is fused attention."""
        return "attention" in self.operator

    @property
    def is_grouped(self) -> bool:
        """Whether it multiplies the rows of many groups, each with its own matrix."""
        return bool(self.groups)
