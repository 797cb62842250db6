"""How long a grouped product takes: many matrices, one kernel, tiles of all groups in waves.

A grouped product (``torch._grouped_mm``, CUTLASS's pointer-array GEMM) multiplies the rows of each
expert with that expert's matrix. Tiles are cut inside each group, so a group that does not fill
its last tile wastes the rest of it, but they are handed out to multiprocessors over all groups:
waves are counted once, not once a group.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from netloom.compute.gemm import Chip

__all__ = ["START_S", "balanced", "busy_share", "grouped_kind", "grouped_s", "skewed"]

Grouped = Literal["grouped", "grouped_weights", "batched", "fp8_grouped"]
KINDS: Final[tuple[Grouped, ...]] = ("grouped", "grouped_weights", "batched", "fp8_grouped")

# Tiles of torch._grouped_mm in bf16 on Hopper, and when it takes the small one; two tiles
# of rows are one cluster (pytorch/pytorch aten/src/ATen/native/cuda/GroupMM.cu at 06c0cf01).
LARGE_TILE: Final = (128, 256)
SMALL_TILE: Final = (64, 128)
SMALL_SIDE: Final = 128
CLUSTER: Final = 2
# Of grouped products of six experts' shapes, 1 to 32 groups, forward and both gradients, profiled
# on one H200 (PyTorch 2.11; compute/data/h200_grouped.csv), least mean error: time over a cuBLAS
# product of the same work, with the large and the small tile; what one takes however little it
# does; the share of the memory rate at which weights stream; how much of an unfilled wave and
# tile is paid.
LARGE_EXCESS: Final = 1.053
SMALL_EXCESS: Final = 1.75
START_S: Final = 6.0e-6
MEMORY_SHARE: Final = 0.744
WAVE_SHARE: Final = 0.81
# The same of batched products (``torch.bmm``: cuBLAS, its own choice of tiles), and of fp8 with a
# scale to each row (``torch._scaled_grouped_mm``) over the fp8 peak.
BATCHED_EXCESS: Final = 1.0
BATCHED_MEMORY_SHARE: Final = 0.9
FP8_EXCESS: Final = 1.42
FP8_MEMORY_SHARE: Final = 0.65
OUTPUT_BYTES: Final = 2  # of an fp8 product as well
# Between arithmetic and memory the slower decides, and a little of the other shows: the norm of
# the two with this exponent.
SHARPNESS: Final = 4.6


class Tiles(NamedTuple):
    """How a grouped product is cut."""

    high: int
    wide: int
    number: int
    worked: float  # tile area times inner terms, ramps included
    useful: float  # the same of the product alone


def grouped_kind(operator: str) -> Grouped:
    """Return which grouped product *operator* names."""
    return next(kind for kind in KINDS if kind == operator)


def balanced(rows: float, num_groups: int) -> tuple[float, ...]:
    """Return the rows of each group when all have as many."""
    return (rows / num_groups,) * num_groups


def skewed(rows: int, num_groups: int, power: float = 0.5) -> tuple[float, ...]:
    """Return the rows of each group when they fall as 1 / rank ** *power*."""
    weights = [(rank + 1) ** -power for rank in range(num_groups)]
    return tuple(rows * weight / sum(weights) for weight in weights)


def grouped_s(
    kind: Grouped,
    counts: tuple[float, ...],
    sides: tuple[float, float],
    chip: Chip,
    *,
    pace: float = 1.0,
) -> float:
    """Return the time of each group's rows times its matrix, without its start.

    Args:
        kind: ``grouped_weights`` are the gradients of the matrices, summed over a group's rows.
        counts: Rows of each group.
        sides: Columns and inner terms of a matrix.
        chip: Where.
        pace: Time of a plain product over that at the full peak; memory does not feel it.
    """
    tiles = _tiles(kind, counts, sides, chip)
    if tiles.number == 0:
        return 0.0
    waves = math.ceil(tiles.number / chip.num_multiprocessors) * chip.num_multiprocessors
    excess = waves / tiles.number * tiles.worked / tiles.useful
    ideal_s: float = 2 * tiles.useful / chip.peak_flops * excess**WAVE_SHARE
    memory_s = _bytes(counts, sides, chip) / (_memory_share(kind) * chip.memory_bytes_per_s)
    return _norm(pace * _excess(kind, tiles) * ideal_s, memory_s)


def busy_share(
    kind: Grouped, counts: tuple[float, ...], sides: tuple[float, float], chip: Chip, pace: float
) -> float:
    """Return the share of its time that the multiprocessors' tiles are at work."""
    useful_s = 2 * _tiles(kind, counts, sides, chip).useful / chip.peak_flops
    taken_s = grouped_s(kind, counts, sides, chip, pace=pace)
    return min(1.0, pace * useful_s / taken_s) if taken_s else 0.0


def _tiles(
    kind: Grouped, counts: tuple[float, ...], sides: tuple[float, float], chip: Chip
) -> Tiles:
    columns, inner = sides
    ramp = chip.ramp_inner
    if kind == "grouped_weights":
        high, wide = SMALL_TILE if min(sides) <= SMALL_SIDE else LARGE_TILE
        each = _tall(columns, high) * math.ceil(inner / wide)
        terms = sum(size + ramp for size in counts)
        area = each * high * wide
        return Tiles(high, wide, each * len(counts), area * terms, columns * inner * terms)
    rows = sum(counts)
    small = rows / len(counts) <= SMALL_SIDE or columns <= SMALL_SIDE
    high, wide = SMALL_TILE if small and kind == "grouped" else LARGE_TILE
    tall = sum(
        _tall(size, high) if kind == "grouped" else math.ceil(size / high) for size in counts
    )
    count = tall * math.ceil(columns / wide)
    terms = inner + ramp
    return Tiles(high, wide, count, count * high * wide * terms, rows * columns * terms)


@lru_cache(maxsize=65_536)
def _tall(rows: float, high: int) -> int:
    """Return the tiles that *rows* need, whole clusters of them."""
    return math.ceil(rows / (CLUSTER * high)) * CLUSTER


def _bytes(counts: tuple[float, ...], sides: tuple[float, float], chip: Chip) -> float:
    columns, inner = sides
    values = len(counts) * columns * inner + sum(counts) * inner
    return chip.element_bytes * values + OUTPUT_BYTES * sum(counts) * columns


def _excess(kind: Grouped, tiles: Tiles) -> float:
    if kind == "batched":
        return BATCHED_EXCESS
    if kind == "fp8_grouped":
        return FP8_EXCESS
    return SMALL_EXCESS if (tiles.high, tiles.wide) == SMALL_TILE else LARGE_EXCESS


def _memory_share(kind: Grouped) -> float:
    return {"batched": BATCHED_MEMORY_SHARE, "fp8_grouped": FP8_MEMORY_SHARE}.get(
        kind, MEMORY_SHARE
    )


def _norm(one: float, other: float) -> float:
    large, small = max(one, other), min(one, other)
    total: float = large * (1 + (small / large) ** SHARPNESS) ** (1 / SHARPNESS)
    return total
