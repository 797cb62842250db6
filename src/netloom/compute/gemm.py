"""How long a matrix product takes at a GPU's peak: tiles in waves, and a ramp.

A product of m by n by k is cut into tiles, one to a multiprocessor at a time; a last wave that
is not full costs nearly as much as a full one. On a GPU at its power limit the idle
multiprocessors give their power to the others, so it costs less than the whole wave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.compute.tables import TimedOperator

__all__ = ["Chip", "ideal_s", "is_aligned", "measured_excess", "wave_excess"]

# Tiles that cuBLAS's Hopper kernels use (names of its kernels); the library takes the best.
TILES: Final = ((128, 256), (256, 128), (128, 192), (192, 128), (128, 128))
# How much of an unfilled last wave is paid: over 477 products on an H200, p90 of the error is least
# at 0.5 for large ones and grows beyond it for all (docs/models/compute.md).
WAVE_SHARE: Final = 0.35
# Filling the pipelines and writing out a tile of 128 by 256: what leaves no slope against 1/k
# in 24 products of 60 to 280 us on an H200 at rest, at its boost clock (``netloom calibrate gpu``).
RAMP_S: Final = 1.5e-6
RAMP_TILE_FLOPS: Final = 2.0 * 128 * 256
# Start of a kernel that has been queued in time; recalled, 2 to 5 us on current GPUs.
KERNEL_START_S: Final = 4e-6
# From the end of a queued kernel to the start of the next: median over 16 layers, PyTorch 2.11
# profiler, one H200. Most products are preceded by clearing their workspace, 0.8 us and a second
# gap, which makes the 4 us above.
KERNEL_GAP_S: Final = 1.6e-6
# Products whose rows are not whole 16-byte words run on kernels of the generation before (profiled:
# cutlass_80_tensorop, 250 to 275 TFLOP/s on an H200, six products 8,954 wide): time over ideal.
ALIGNED_VALUES: Final = 8
UNALIGNED_EXCESS: Final = 3.6
# Shorter ones measure how fast the host launches (21 to 45 us), not the product.
MIN_S: Final = 60e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What bounds a product: multiprocessors, peak, memory."""

    num_multiprocessors: int
    peak_flops: float
    memory_bytes_per_s: float
    element_bytes: float = 2.0

    @property
    def ramp_inner(self) -> float:
        """How many inner terms a tile multiplies in the time of its ramp."""
        return RAMP_S * self.peak_flops / self.num_multiprocessors / RAMP_TILE_FLOPS


def wave_excess(num_rows: float, num_columns: float, num_multiprocessors: int) -> float:
    """Return the time of whole waves over that of the tiles alone, with the best tile."""
    return min(
        math.ceil(math.ceil(num_rows / high) * math.ceil(num_columns / wide) / num_multiprocessors)
        * (num_multiprocessors * high * wide / (num_rows * num_columns))
        for high, wide in TILES
    )


@lru_cache(maxsize=65_536)
def ideal_s(shape: tuple[float, float, float], chip: Chip) -> float:
    """Return the time of a product at the full peak, with waves and ramp, without its start."""
    rows, columns, inner = shape
    excess: float = wave_excess(rows, columns, chip.num_multiprocessors) ** WAVE_SHARE
    ramp = 1 + chip.ramp_inner / inner
    arithmetic_s = 2 * rows * columns * inner / chip.peak_flops * excess * ramp
    moved = rows * inner + columns * inner + rows * columns
    return max(arithmetic_s, chip.element_bytes * moved / chip.memory_bytes_per_s)


def is_aligned(operator: str, shape: Sequence[float]) -> bool:
    """Return whether the rows of both matrices are whole 16-byte words."""
    widths = shape[:2] if operator == "gemm_nt" else shape[1:]
    return not any(width % ALIGNED_VALUES for width in widths)


def measured_excess(row: TimedOperator, chip: Chip) -> float:
    """Return the log of a product's measured over its ideal time."""
    rows, columns, inner = row.shape
    return math.log((row.time_s - KERNEL_START_S) / ideal_s((rows, columns, inner), chip))
