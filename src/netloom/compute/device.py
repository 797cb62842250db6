"""One GPU, by the operators measured on it: how long each of its kernels takes.

Products and attention slow down with the clock, which the power limit lowers in long calls;
kernels bound by memory do not.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.compute.attention import fit_attention, tokens_of, work_s
from netloom.compute.gemm import (
    KERNEL_GAP_S,
    KERNEL_START_S,
    MIN_S,
    UNALIGNED_EXCESS,
    Chip,
    ideal_s,
    is_aligned,
    measured_excess,
)
from netloom.compute.grouped import START_S, busy_share, grouped_kind, grouped_s
from netloom.compute.kernels import BURST_S, SUSTAINED_S
from netloom.compute.tables import read_table, shipped_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from netloom.compute.attention import Attention
    from netloom.compute.kernels import Kernel
    from netloom.compute.tables import TimedOperator

    Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = ["GpuDevice", "calibrated", "h200"]

# Products up to this long are timed by ``netloom calibrate gpu`` before a GPU at rest reaches its
# power limit: 200 runs of them take 60 ms, and the boost clock holds for 30 to 60 ms of products
# (nine loops of three shapes on one H200, PyTorch 2.11). From 1 ms on its loops are at the limit.
RESTED_S: Final = 300e-6
LIMITED_S: Final = 1e-3
# Where no such products are known: of those shorter than a burst one in twenty at least ran at
# the boost clock; the others met a GPU that was held to its power limit by those before.
BURST_QUANTILE: Final = 0.05
# Time of attention at the power limit over that at the boost clock: median of five of 15 ms and
# more (compute.kernels).
ATTENTION_LIMIT: Final = 1.17
# Power over the limit that a kernel bound by memory draws; recalled, about half on an H100.
MEMORY_POWER: Final = 0.5
# Gradients of the input (NN) and of the weight (NT, 16-bit output) over the forward product (TN)
# of the same sizes: medians of 144 and 82 pairs on the B200 (MooreThreads/SimuMax
# configs/system/b200_bf16_ceperm.json); 1.01 and 1.03 on one H200 (``netloom calibrate gpu``).
# Used where a table has no products of that layout.
LAYOUT_EXCESS: Final = {"gemm_tn": 1.0, "gemm_nn": 1.01, "gemm_nt": 1.02}
# Attention kernels pad heads to the next size; beyond the largest measured, PyTorch is taken to
# fall back to FlashAttention-2, which reaches 35 % of the peak on Hopper (arXiv:2407.08608,
# abstract; recalled).
FALLBACK_SHARE: Final = 0.35
MIN_ATTENTIONS: Final = 6  # three terms are taken from them
# Products or attentions without which a calibration is too short to be used for them.
MIN_ROWS: Final = 20
# Shorter attentions measure the host.
MIN_ATTENTION_S: Final = {
    "attention_forward": 60e-6,
    "attention_backward": 250e-6,
    # Profiled without the host, so that short ones tell as well.
    "latent_attention_forward": 0.0,
    "latent_attention_backward": 0.0,
    "full_attention_forward": 0.0,
    "full_attention_backward": 0.0,
}
# Head sizes that attention kernels are made for: others are padded to the next. Without a mask
# 72 to 96 take as long as 128, 144 and 160 as long as 192 (compute/data/h200_attention.csv).
HEAD_SIZES: Final = (64, 128, 192, 256)
# A memory-bound operator is judged by its rows of this many values and more: smaller ones
# measure the host or the cache (50 MB on Hopper).
LARGE_VALUES: Final = 5e7
# How far, in doublings, a measured shape counts for its neighbours.
COLUMNS_REACH: Final = 0.5
# Bytes that each measured operator moves per element, 16 bits a value unless said: each input
# read once, each output written once; silu_mul is two kernels of 2 and 3 passes; the loss's are
# its logits alone, whatever it does with them in fp32.
ELEMENT_BYTES: Final = {
    "layernorm": 4,
    "layernorm_backward": 10,
    "rmsnorm": 4,
    "rmsnorm_backward": 10,
    "gelu": 4,
    "gelu_backward": 6,
    "silu_mul": 10,
    "residual_add": 6,
    "dropout": 4,
    "bias_gradient": 2,
    "cross_entropy": 2,
    "adamw_fused": 28,  # fp32
    "adamw_fused_bf16": 14,
    # Over heads that were transposed: five kernels that move ten values a value.
    "rotary": 20,
    "rotary_backward": 20,
    # As torch.compile writes them: a norm; a sum and the norm after it; a sum; both norms of a
    # layer backward, with the sums of the gradients that meet there.
    "compiled_norm": 4,
    "compiled_add_norm": 8,
    "compiled_add": 6,
    "compiled_norm_backward": 30,
    # Kernels over what is not one block of memory, or with a factor to each row or batch: they
    # compute an address to each value, which takes longer than the bytes.
    "broadcast": 4,
    "modulate": 4,
    "strided": 4,
    "strided_product": 4,
    "strided_backward": 4,
    "joined": 4,
    # Rows to other places and back; the sum of a token's rows (four of them).
    "gather": 4,
    "spread_backward": 4,
    "slot_sum": 4,
    "row_sum": 2,
}
# What a kernel needs however little it moves: a sum over rows ends in a second pass over parts.
# Median over five pairs of row counts (``netloom calibrate gpu``, one H200): 10 to 33 us.
FIXED_S: Final = {
    "bias_gradient": 16e-6,
    # Profiled (docs/models/compute.md): a kernel on a few values; one pass of a radix sort; the
    # second pass over a head's scale.
    "small": 1.5e-6,
    "radix": 4.5e-6,
    "pair_sort": 3e-6,
    "head_norm_backward": 50e-6,
    "batch_sum": 8e-6,
}
# Bytes a second of kernels whose instructions take longer than their bytes, profiled on one H200:
# the choice of the largest of each row (compute.mixtures) and their sort, halves of heads joined
# (0.96 to 1.0 TB/s), two streams joined (0.72 to 0.77), norms of one head (0.73 to 0.79), a
# compiled sum over eight experts and more (0.85 to 0.92), the writes of rows copied to several
# places, sums over a batch.
INSTRUCTION_RATES: Final = {
    "top_k": 77e9,
    "spread": 2.8e12,
    "batch_sum": 3.8e12,
    "pair_sort": 5.5e9,
    "joined_heads": 0.97e12,
    "joined_streams": 0.74e12,
    "head_norm": 0.78e12,
    "head_norm_backward": 1.38e12,
    "slow_sum": 0.88e12,
}
# What the host needs for a kernel of an operator that launches several, or is smaller than any in
# the tables: of 250 calls on one H200's host (PyTorch 2.11), sorts 3 us a kernel, others 9 to 15.
DISPATCH_S: Final = {"radix": 3e-6, "pair_sort": 2e-6, "small": 9e-6, "top_k": 15e-6}
# Whose rate a kernel has where its own was not measured.
ALIKE: Final = {
    "layernorm_backward": "layernorm",
    "rmsnorm_backward": "rmsnorm",
    "gelu_backward": "gelu",
    "bias_gradient": "layernorm",
    "adamw_fused_bf16": "adamw_fused",
    "rotary": "residual_add",
    "rotary_backward": "residual_add",
    "small": "residual_add",
    "radix": "residual_add",
}


@dataclass(frozen=True)
class GpuDevice:
    """One GPU.

    Attributes:
        rows: The operators measured on it.
        chip: What bounds a product in bf16.
        profiled: Kernels bound by memory that *rows* lack, timed without the host.
        rested: Products timed on a GPU of the kind that was at rest before.
    """

    rows: tuple[TimedOperator, ...]
    chip: Chip
    profiled: tuple[TimedOperator, ...] = ()
    rested: tuple[TimedOperator, ...] = ()

    def time_s(self, kernel: Kernel, slowdown: float = 1.0) -> float:
        """Return how long the GPU is busy with *kernel*.

        Args:
            kernel: What to run.
            slowdown: Boost clock over the actual one; kernels bound by memory do not feel it.
        """
        if kernel.is_grouped:
            return self._grouped_s(kernel, math.exp(self.burst) * slowdown)
        if kernel.is_product:
            excess = self._layouts[kernel.operator] * math.exp(self.burst) * slowdown
            if not is_aligned(kernel.operator, kernel.shape):
                excess = UNALIGNED_EXCESS * slowdown
            return ideal_s(_three(kernel.shape), self.chip) * excess + KERNEL_START_S
        if kernel.is_attention:
            return slowdown * self._attention_s(kernel)
        columns = kernel.shape[0] if kernel.shape else 0.0
        fixed_s = KERNEL_GAP_S + FIXED_S.get(kernel.operator, 0.0)
        return kernel.size_bytes / self._memory_rate(kernel.operator, columns) + fixed_s

    def dispatch_s(self, kernel: Kernel) -> float:
        """Return what the host needs to launch *kernel* in eager mode.

        That is what the smallest measured operator of its kind takes: nothing else can.
        """
        if kernel.operator in DISPATCH_S:
            return DISPATCH_S[kernel.operator]
        floors = self._floors
        return floors.get(kernel.operator) or floors[ALIKE.get(kernel.operator, "gemm_tn")]

    def slowdown(self, kernels: Iterable[Kernel]) -> float:
        """Return boost clock over the clock at which *kernels* draw the power limit.

        A kernel that draws p times the limit at boost clock, where power falls with the square
        of the clock, draws p / s^2 when slowed by s, and takes s times as long. Over all kernels
        the energy equals the limit times the time that passes: a / s - b s = c.
        """
        drawn = clocked = spare = 0.0
        for kernel, count in Counter(kernels).items():
            time_s = count * self.time_s(kernel)
            if kernel.is_product or kernel.is_attention or kernel.is_grouped:
                drawn += time_s * self._power(kernel)
                clocked += time_s
            else:
                spare += time_s * (1 - MEMORY_POWER)
        if clocked == 0:
            return 1.0
        found = (math.sqrt(spare**2 + 4 * drawn * clocked) - spare) / (2 * clocked)
        return max(1.0, found)

    @cached_property
    def burst(self) -> float:
        """Log of measured over ideal time of a product at the boost clock."""
        if self.rested:
            return median(measured_excess(row, self.chip) for row in self.rested)
        return float(np.quantile(self._excess(MIN_S, BURST_S), BURST_QUANTILE))

    @cached_property
    def limit(self) -> float:
        """Time of a product at the power limit over that at the boost clock."""
        long = self._excess(SUSTAINED_S, math.inf) or self._excess(LIMITED_S, math.inf)
        return max(1.0, math.exp(median(long) - self.burst)) if long else 1.0

    def memory_rate(self, operator: str) -> float:
        """Return the bytes that *operator* moves a second, in the median of its shapes."""
        return self._memory_rate(operator, 0.0)

    def _excess(self, shortest_s: float, longest_s: float) -> list[float]:
        return [
            measured_excess(row, self.chip)
            for row in self._products("gemm_tn")
            if shortest_s <= row.time_s < longest_s
        ]

    def _products(self, layout: str) -> list[TimedOperator]:
        return [row for row in self.rows if row.operator == layout and row.precision == "bf16"]

    @cached_property
    def _layouts(self) -> dict[str, float]:
        """Time of a product over that of the forward product of the same sizes, by layout."""
        forward = {row.shape: row.time_s for row in self._products("gemm_tn")}
        found = dict(LAYOUT_EXCESS)
        for layout in ("gemm_nn", "gemm_nt"):
            pairs = [
                row.time_s / forward[row.shape]
                for row in self._products(layout)
                if row.shape in forward and row.time_s >= MIN_S
            ]
            if pairs:
                found[layout] = median(pairs)
        return found

    @cached_property
    def _floors(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for row in self.rows:
            time_s = row.time_s / (2 if row.operator == "silu_mul" else 1)
            found[row.operator] = min(time_s, found.get(row.operator, math.inf))
        return found

    def _power(self, kernel: Kernel) -> float:
        """Return what a clocked kernel draws at the boost clock, over the limit.

        A product draws in proportion to the share of its time that its tiles are at work.
        """
        if kernel.is_attention:
            return ATTENTION_LIMIT**2
        if kernel.is_grouped:
            pace, chip = math.exp(self.burst), self._chip_of(kernel)
            kind = grouped_kind(kernel.operator)
            return self.limit**2 * busy_share(kind, kernel.groups, _two(kernel.shape), chip, pace)
        if not is_aligned(kernel.operator, kernel.shape):
            return 1.0
        rows, columns, inner = _three(kernel.shape)
        useful_s = 2 * rows * columns * (inner + self.chip.ramp_inner) / self.chip.peak_flops
        return self.limit**2 * useful_s / ideal_s((rows, columns, inner), self.chip)

    def _chip_of(self, kernel: Kernel) -> Chip:
        if kernel.operator != "fp8_grouped":
            return self.chip
        return replace(self.chip, peak_flops=2 * self.chip.peak_flops, element_bytes=1.0)

    def _grouped_s(self, kernel: Kernel, pace: float) -> float:
        chip, sides = self._chip_of(kernel), _two(kernel.shape)
        kind = grouped_kind(kernel.operator)
        return grouped_s(kind, kernel.groups, sides, chip, pace=pace) + START_S

    def _attention_s(self, kernel: Kernel) -> float:
        sequence, head_dim = tokens_of(kernel.shape), kernel.shape[3]
        ideal = work_s(kernel.operator, kernel.shape, self.chip)
        fitted = self._attentions[kernel.operator]
        size = next((size for size in fitted if head_dim <= size), None)
        if size is None:
            return ideal / FALLBACK_SHARE
        return fitted[size].time_s(ideal * size / head_dim, sequence)

    @cached_property
    def _attentions(self) -> dict[str, dict[int, Attention]]:
        """Return the attentions by pass and head size, sizes growing."""
        return {
            operator: {
                size: fit_attention(rows, self.chip)
                for size, rows in sorted(self._attention_rows(operator).items())
                if len(rows) >= MIN_ATTENTIONS
            }
            for operator in MIN_ATTENTION_S
        }

    def _attention_rows(self, operator: str) -> dict[int, list[TimedOperator]]:
        """Return the attentions that ran at the boost clock and did not wait for the host."""
        found: dict[int, list[TimedOperator]] = {}
        rested = [row for row in self.rows if row.time_s < BURST_S]
        # Profiled three times after a rest, so that even those of 10 ms ran at the boost clock.
        profiled = [row for row in self.profiled if row.time_s < SUSTAINED_S]
        for row in (*rested, *profiled):
            if row.operator == operator and MIN_ATTENTION_S[operator] <= row.time_s:
                size = next((size for size in HEAD_SIZES if row.shape[3] <= size), row.shape[3])
                padded = (*row.shape[:3], size, *row.shape[4:])
                found.setdefault(size, []).append(replace(row, shape=padded))
        return found

    def _memory_rate(self, operator: str, columns: float) -> float:
        if operator in INSTRUCTION_RATES:
            return INSTRUCTION_RATES[operator]
        curve = self._memory.get(operator) or self._memory[ALIKE[operator]]
        points, rates = curve
        if columns <= 0:
            return float(np.median(rates))
        return _near((points[:, None] - math.log2(columns)) / COLUMNS_REACH, rates)

    @cached_property
    def _memory(self) -> dict[str, Curve]:
        """Return the rates of memory-bound operators, by columns."""
        found: dict[str, list[tuple[float, float]]] = {}
        own = {row.operator for row in self.rows}
        for row in self.rows:
            each = ELEMENT_BYTES.get(row.operator)
            if each is not None and row.shape[0] * row.shape[1] >= LARGE_VALUES:
                size_bytes = each * row.shape[0] * row.shape[1]
                point = (math.log2(row.shape[1]), size_bytes / (row.time_s - KERNEL_START_S))
                found.setdefault(row.operator, []).append(point)
        for row in self.profiled:
            if row.operator not in own and row.operator in ELEMENT_BYTES:
                size_bytes = ELEMENT_BYTES[row.operator] * row.shape[0] * row.shape[1]
                moving_s = row.time_s - FIXED_S.get(row.operator, 0.0)
                point = (math.log2(row.shape[1]), size_bytes / moving_s)
                found.setdefault(row.operator, []).append(point)
        return {name: _curve(points) for name, points in found.items()}


def h200() -> GpuDevice:
    """Return the H200 that netloom ships a table of.

    Peak and memory rate are the vendor's; 132 multiprocessors as in the H100 white paper.
    """
    chip = Chip(num_multiprocessors=132, peak_flops=989e12, memory_bytes_per_s=4.8e12)
    rows = shipped_table("h200")
    known = {row.operator for row in rows}
    backward = [
        row
        for row in shipped_table("h200_calibrated")
        if row.operator in ELEMENT_BYTES and row.operator not in known and _tells(row)
    ]
    return GpuDevice(
        rows=rows,
        chip=chip,
        profiled=(*shipped_table("h200_profiled"), *shipped_table("h200_attention"), *backward),
        rested=_rested(shipped_table("h200_calibrated")),
    )


def calibrated(path: Path, chip: Chip | None = None) -> GpuDevice:
    """Return the GPU that ``netloom calibrate gpu`` measured into *path*.

    Operators that the file has too few rows of are taken from the shipped H200.

    Raises:
        SpecError: the file cannot be read or a row is wrong.
    """
    own = read_table(path)
    counts = Counter((row.operator, row.precision) for row in own if _tells(row))
    enough = {kind for kind, count in counts.items() if count >= _least(kind[0])}
    kept = [row for row in own if (row.operator, row.precision) in enough]
    rest = [row for row in shipped_table("h200") if (row.operator, row.precision) not in enough]
    shipped = h200()
    return GpuDevice(
        rows=(*kept, *rest),
        chip=chip or shipped.chip,
        profiled=shipped.profiled,
        rested=_rested(own) if ("gemm_tn", "bf16") in enough else shipped.rested,
    )


def _rested(rows: Iterable[TimedOperator]) -> tuple[TimedOperator, ...]:
    """Return the products of a calibration that ran before the GPU reached its power limit."""
    return tuple(
        row
        for row in rows
        if row.operator == "gemm_tn" and row.precision == "bf16" and MIN_S <= row.time_s <= RESTED_S
    )


def _least(operator: str) -> int:
    """Return how many rows tell the speed of *operator*."""
    return MIN_ROWS if operator.startswith(("gemm", "attention")) else 1


def _tells(row: TimedOperator) -> bool:
    """Return whether a row tells the speed of the GPU, not that of the host or a cache."""
    if row.operator.startswith("gemm"):
        return MIN_S <= row.time_s < BURST_S
    if "attention" in row.operator:
        return MIN_ATTENTION_S[row.operator] <= row.time_s < BURST_S
    return row.shape[0] * row.shape[1] >= LARGE_VALUES


def _near(apart: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the mean of *values*, those nearby counting most (Nadaraya and Watson 1964)."""
    weights = np.exp(-0.5 * (apart**2).sum(axis=1)) + 1e-12
    return float(weights @ values / weights.sum())


def _curve(points: Sequence[tuple[float, float]]) -> Curve:
    return np.array([at for at, _ in points]), np.array([value for _, value in points])


def _two(shape: Sequence[float]) -> tuple[float, float]:
    columns, inner = shape
    return columns, inner


def _three(shape: Sequence[float]) -> tuple[float, float, float]:
    rows, columns, inner = shape
    return rows, columns, inner
