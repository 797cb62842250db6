"""Kernels, one by one: what a GPU runs when PyTorch runs a layer, and how long each takes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.compute.gemm import KERNEL_START_S, SHORTEST_S, Chip, ideal_s, measured_excess
from netloom.compute.tables import read_table, shipped_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from netloom.compute.tables import Measured

__all__ = ["Call", "Device", "Kernel", "calibrated", "call", "h200"]

# Attention of one H200, 16,384 and 32,768 tokens, head size 128: calls of up to 5.1 ms run at
# 650 TFLOP/s forward, of 7.2 ms at 613, of 14.8 ms at 596; backward 583, and 521 to 538 from
# 15.5 ms. The GPU holds its boost clock for a short call and is held to its power limit in a
# long one; between 5 and 15 ms the table has both.
BURST_S: Final = 5.1e-3
SUSTAINED_S: Final = 15e-3
ATTENTION_SLOWDOWN: Final = 1.08
# Of the products shorter than that, one in twenty at least ran at the boost clock.
BURST_QUANTILE: Final = 0.05
# Power over the limit that a kernel bound by memory draws; recalled, 0.5 to 0.7 on an H100.
MEMORY_POWER: Final = 0.6
# Gradients of the weight (NT, 16-bit output) and of the input (NN) over the forward product (TN)
# of the same sizes: medians of 82 and 144 pairs on the B200 (MooreThreads/SimuMax
# configs/system/b200_bf16_ceperm.json). Used where a table has no products of that layout.
LAYOUT_EXCESS: Final = {"gemm_tn": 1.0, "gemm_nn": 1.01, "gemm_nt": 1.02}
# Attention kernels pad heads to these sizes; beyond the last, PyTorch falls back to
# FlashAttention-2, which reaches 35 % of the peak on Hopper (arXiv:2407.08608, abstract;
# recalled).
HEAD_SIZES: Final = (64, 128)
FALLBACK_SHARE: Final = 0.35
BACKWARD_WORK: Final = 2.5  # FlashAttention-2 (arXiv:2307.08691) section 3.1.2
# Shorter attentions measure the host.
SHORTEST_ATTENTION_S: Final = {"attention_forward": 60e-6, "attention_backward": 250e-6}
# A memory-bound operator is judged by its rows of more than this many bytes: smaller ones
# measure the host or the cache (50 MB on Hopper).
LARGE_BYTES: Final = 2e8
# Bytes moved per element by each measured memory-bound operator, 16 bits a value: one read and
# one write; residual_add reads twice; silu_mul is two kernels of 2 and 3 passes.
PASS_BYTES: Final = {
    "layernorm": 4,
    "rmsnorm": 4,
    "gelu": 4,
    "silu_mul": 10,
    "residual_add": 6,
    "dropout": 4,
    "cross_entropy": 2,
    "adamw_fused": 28,
}


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


@dataclass(frozen=True)
class Device:
    """One GPU, by the operators measured on it.

    Attributes:
        rows: The table.
        chip: What bounds a product in bf16.
        memory_scale: This GPU's memory rate over that of the GPU the table was measured on.
    """

    rows: tuple[Measured, ...]
    chip: Chip
    memory_scale: float = 1.0

    def time_s(self, kernel: Kernel, slowdown: float = 1.0) -> float:
        """Return how long the GPU is busy with *kernel*.

        Args:
            kernel: What to run.
            slowdown: Boost clock over the actual one; kernels bound by memory do not feel it.
        """
        if kernel.operator.startswith("gemm"):
            rows, columns, inner = kernel.shape
            excess = LAYOUT_EXCESS[kernel.operator] * math.exp(self.burst) * slowdown
            return ideal_s((rows, columns, inner), self.chip) * excess + KERNEL_START_S
        if kernel.operator.startswith("attention"):
            return slowdown * self._attention_s(kernel) + KERNEL_START_S
        columns = kernel.shape[0] if kernel.shape else 0.0
        rate = self._memory_rate(kernel.operator, columns) * self.memory_scale
        return kernel.size_bytes / rate + KERNEL_START_S

    def slowdown(self, kernels: Iterable[Kernel]) -> float:
        """Return boost clock over the clock at which *kernels* draw the power limit.

        A kernel that draws p times the limit at boost clock, where power falls with the square
        of the clock, draws p / s^2 when slowed by s, and takes s times as long. Over all kernels
        the energy equals the limit times the time that passes: a / s - b s = c.
        """
        drawn = clocked = spare = 0.0
        for kernel, count in Counter(kernels).items():
            time_s = count * self.time_s(kernel)
            power = self._power(kernel)
            if kernel.operator.startswith(("gemm", "attention")):
                drawn += time_s * power
                clocked += time_s
            else:
                spare += time_s * (1 - power)
        if clocked == 0:
            return 1.0
        found = (math.sqrt(spare**2 + 4 * drawn * clocked) - spare) / (2 * clocked)
        return max(1.0, found)

    def _power(self, kernel: Kernel) -> float:
        """Return what *kernel* draws at the boost clock, over the limit.

        A product draws in proportion to the share of its time that it multiplies.
        """
        if kernel.operator.startswith("gemm"):
            rows, columns, inner = kernel.shape
            useful_s = 2 * rows * columns * inner / self.chip.peak_flops
            return self.limit**2 * useful_s / ideal_s((rows, columns, inner), self.chip)
        if kernel.operator.startswith("attention"):
            return ATTENTION_SLOWDOWN**2
        return MEMORY_POWER

    @cached_property
    def burst(self) -> float:
        """Log of measured over ideal time of a product at the boost clock."""
        return float(np.quantile(self._excess(SHORTEST_S, BURST_S), BURST_QUANTILE))

    @cached_property
    def limit(self) -> float:
        """Time of a product at the power limit over that at the boost clock."""
        long = self._excess(SUSTAINED_S, math.inf)
        return max(1.0, math.exp(float(np.median(long)) - self.burst)) if long else 1.0

    def _excess(self, shortest_s: float, longest_s: float) -> list[float]:
        return [
            measured_excess(row, self.chip)
            for row in self.rows
            if row.operator == "gemm_tn"
            and row.precision == "bf16"
            and shortest_s <= row.time_s < longest_s
        ]

    def dispatch_s(self, kernel: Kernel) -> float:
        """Return what the host needs to launch *kernel* in eager mode.

        That is what the smallest measured operator of its kind takes: nothing else can.
        """
        return self._floors[kernel.operator]

    @cached_property
    def _floors(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for row in self.rows:
            kernels = 2 if row.operator == "silu_mul" else 1
            found[row.operator] = min(row.time_s / kernels, found.get(row.operator, math.inf))
        for layout in LAYOUT_EXCESS:
            found.setdefault(layout, found["gemm_tn"])
        return found

    def _attention_s(self, kernel: Kernel) -> float:
        batch, sequence, heads, head_dim = kernel.shape
        size = next((size for size in HEAD_SIZES if head_dim <= size), None)
        work_s = _attention_work_s(kernel.operator, (batch, sequence, heads, head_dim), self.chip)
        if size is None:
            return work_s / FALLBACK_SHARE
        points, excess = self._attentions[kernel.operator, size]
        here = np.log2([batch * heads, sequence])
        near = np.exp(-0.5 * (((points - here) / 1.0) ** 2).sum(axis=1)) + 1e-12
        return work_s * size / head_dim * math.exp(float(near @ excess / near.sum()))

    @cached_property
    def _attentions(self) -> dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]:
        found = {}
        for operator, shortest_s in SHORTEST_ATTENTION_S.items():
            for size in HEAD_SIZES:
                rows = [
                    row
                    for row in self.rows
                    if row.operator == operator
                    and row.shape[3] == size
                    and shortest_s <= row.time_s < BURST_S
                ]
                points = np.log2([[row.shape[0] * row.shape[2], row.shape[1]] for row in rows])
                excess = [
                    math.log(
                        (row.time_s - KERNEL_START_S)
                        / _attention_work_s(operator, row.shape, self.chip)
                    )
                    for row in rows
                ]
                found[operator, size] = points, np.array(excess)
        return found

    def _memory_rate(self, operator: str, columns: float) -> float:
        points, rates = self._memory[operator]
        if len(rates) == 1 or columns <= 0:
            return float(np.median(rates))
        near = np.exp(-0.5 * ((points - math.log2(columns)) / 0.5) ** 2) + 1e-12
        return float(near @ rates / near.sum())

    @cached_property
    def _memory(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for operator, pass_bytes in PASS_BYTES.items():
            rows = [
                row
                for row in self.rows
                if row.operator == operator
                and pass_bytes * row.shape[0] * row.shape[1] >= LARGE_BYTES
            ]
            sizes = np.array([pass_bytes * row.shape[0] * row.shape[1] for row in rows])
            times = np.array([row.time_s - KERNEL_START_S for row in rows])
            points = np.log2([row.shape[1] for row in rows])
            found[operator] = points, sizes / times
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How long a call takes.

    Attributes:
        busy_s: What the GPU's kernels take, one after the other.
        host_s: What the host needs to launch them; 0 when it has done so in time.
    """

    duration_s: float
    busy_s: float
    host_s: float


def call(kernels: Iterable[Kernel], device: Device, *, launched: bool) -> Call:
    """Return how long a call takes: the GPU runs kernels in order, as the host launches them.

    A short call runs at the boost clock, a long one at the clock that the power limit allows.

    Args:
        kernels: In the order in which they run.
        device: Where.
        launched: Whether the host launches them one by one (eager), or has done so in time.
    """
    queue = list(kernels)
    short = _run(queue, device, 1.0, launched=launched)
    if short.duration_s <= BURST_S:
        return short
    long = _run(queue, device, device.slowdown(queue), launched=launched)
    weight = min(1.0, (short.duration_s - BURST_S) / (SUSTAINED_S - BURST_S))
    return Call(
        duration_s=(1 - weight) * short.duration_s + weight * long.duration_s,
        busy_s=(1 - weight) * short.busy_s + weight * long.busy_s,
        host_s=short.host_s,
    )


def _run(kernels: Sequence[Kernel], device: Device, slowdown: float, *, launched: bool) -> Call:
    times_s = {kernel: device.time_s(kernel, slowdown) for kernel in dict.fromkeys(kernels)}
    host_s = gpu_s = busy_s = 0.0
    for kernel in kernels:
        # The first launch is not waited for: calls follow one another.
        gpu_s = max(gpu_s, host_s) + times_s[kernel]
        busy_s += times_s[kernel]
        host_s += device.dispatch_s(kernel) if launched else 0.0
    return Call(duration_s=max(gpu_s, host_s), busy_s=busy_s, host_s=host_s)


def _attention_work_s(operator: str, shape: Sequence[float], chip: Chip) -> float:
    """Return the time of causal attention at the full peak."""
    batch, sequence, heads, head_dim = shape
    flops = 2 * batch * sequence**2 * heads * head_dim
    return flops * (BACKWARD_WORK if operator == "attention_backward" else 1.0) / chip.peak_flops


def h200() -> Device:
    """Return the H200 that netloom ships a table of.

    Peak and memory rate are the vendor's; 132 multiprocessors as in the H100 white paper.
    """
    chip = Chip(num_multiprocessors=132, peak_flops=989e12, memory_bytes_per_s=4.8e12)
    return Device(rows=shipped_table("h200"), chip=chip)


def calibrated(path: Path) -> Device:
    """Return the GPU that ``netloom calibrate gpu`` measured into *path*.

    Operators that the file lacks are taken from the shipped H200.

    Raises:
        SpecError: the file cannot be read or a row is wrong.
    """
    own = read_table(path)
    known = {(row.operator, row.precision) for row in own}
    rest = [row for row in shipped_table("h200") if (row.operator, row.precision) not in known]
    return Device(rows=(*own, *rest), chip=h200().chip)
