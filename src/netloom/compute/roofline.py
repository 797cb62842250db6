"""How long an operator takes on a GPU: the slower of its arithmetic and its memory traffic.

Shares of peak and memory rate are measured and applied to every GPU's own rates: those of
products by generation (A100, H200, B200), the others on one H200, and all of them on the user's
own GPU where the catalogue names its calibration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Final

from netloom.compute.device import calibrated
from netloom.compute.gemm import Chip, ideal_s
from netloom.compute.generation import GENERATIONS
from netloom.compute.grouped import START_S, balanced, grouped_s
from netloom.errors import SpecError
from netloom.provenance import Source, Validity, Why
from netloom.spec.precision import is_cast, product_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.compute.generation import GpuGeneration
    from netloom.compute.grouped import Grouped
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Precision, Recompute
    from netloom.workload.flops import Operator

__all__ = ["NO_COSTS", "Costs", "Roofline", "costs", "roofline"]

H200: Final = "PyTorch 2.11, CUDA 13, eager, one H200"
# What is said of Hopper stands in for a GPU that was not measured.
_HOPPER: Final = GENERATIONS.get("hopper").product
assert _HOPPER is not None
TYPICAL_PRODUCT, TYPICAL_SOURCE = _HOPPER
# The same products over those that fill whole waves and have no ramp (compute.gemm): the median
# of the 36 of 15 ms and more is 687.5 TFLOP/s of such work.
TYPICAL_EXCESS: Final = 687.5 / 681
# Best product over peak for a GPU without measurements: the median of the NVIDIA bf16 rows of
# stas00/ml-engineering, compute/accelerator (A100 0.87, H100 0.80, B200 0.78, GB200 0.73).
UNMEASURED_BEST: Final = 0.80
UNMEASURED_SOURCE: Final = Source(
    citation="median of NVIDIA GPUs in stas00/ml-engineering, compute/accelerator",
    confidence="assumed",
)
# Share of its peak that an fp8 product reaches over that of the bf16 product of the same shape,
# both over their ideal times of compute.gemm, and what it takes beyond however small: least
# absolute deviations of time against ideal time over 62 pairs, 1.493 and 8.1 us in fp8, 1.405 and
# 0.7 us in bf16. Their times are 1.80 apart in the median and the peaks 2.0; the rest is the ramp,
# which the ideal time has.
FP8_SHARE: Final = 1.405 / 1.493
FP8_START_S: Final = 7.4e-6
MAX_ALIKE: Final = 132  # where no white paper was read: like Hopper
# Least error over 555 products lies between 4 and 8 us.
LAUNCH_S: Final = 5e-6
LAUNCH_SOURCE: Final = Source(citation=f"{H200}: offset of 555 products", confidence="measured")
# Shares of the memory rate at 0.1 to 1 GB: add 0.90, SwiGLU 0.86, GELU 0.74; LayerNorm 0.49,
# RMSNorm 0.55; fused AdamW 0.72.
POINTWISE_SHARE: Final = 0.83
NORM_SHARE: Final = 0.52
OPTIMIZER_SHARE: Final = 0.72
MEMORY_SOURCE: Final = Source(citation=f"{H200}: 193 memory-bound operators", confidence="measured")
# Causal attention at 16,384 tokens, TFLOP/s over the 989 peak, by head size; shorter
# sequences lose half at about 450 tokens.
ATTENTION_FORWARD: Final = {64: 0.47, 128: 0.65}
ATTENTION_BACKWARD: Final = {64: 0.44, 128: 0.57}
ATTENTION_HALF_TOKENS: Final = 450.0
# Products inside a chunked scan, of the 16-bit peak: tiles of 64 to 128 a side between exponentials
# and sums. One H200, fitted with the rest of a scan (workload/hybrid/linear_attention.py).
SCAN_SHARE: Final = 0.20
ATTENTION_SOURCE: Final = Source(citation=f"{H200}: 150 causal attentions", confidence="measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What operators reach of a GPU's rates.

    Attributes:
        product: Of the 16-bit peak, a typical product.
        pointwise: Of the memory rate, sums and activations.
        norm: Of the memory rate, norms.
        optimizer: Of the memory rate, the weight update.
        source: Who says so, of the product.
        memory_source: And of the others.
    """

    product: float
    pointwise: float = POINTWISE_SHARE
    norm: float = NORM_SHARE
    optimizer: float = OPTIMIZER_SHARE
    source: Source = TYPICAL_SOURCE
    memory_source: Source = MEMORY_SOURCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """The rates that one GPU sustains.

    Attributes:
        peak_flops: The vendor's dense peak at the training precision.
        matmul_flops: What a typical large matrix product sustains.
        attention_flops: The 16-bit peak, of which attention kernels reach a share.
        memory_bytes_per_s: The vendor's memory rate.
        casts: Whether products cast their inputs first (fp8).
        chip: What decides how a product's shape changes its rate.
        shares: What operators bound by memory reach of its rate.
    """

    peak_flops: float
    matmul_flops: float
    attention_flops: float
    memory_bytes_per_s: float
    casts: bool
    chip: Chip
    shares: Shares
    validity: Validity
    why: Why

    def forward_s(self, operator: Operator) -> float:
        """Return the time of the operator's forward pass."""
        if operator.shape:
            rows, columns, inner = operator.shape
            arithmetic_s = self._products_s("grouped", rows, (columns, inner), operator.num)
        else:
            arithmetic_s = operator.flops / self._rate(operator, ATTENTION_FORWARD)
        time_s = self._time_s(operator, arithmetic_s, operator.size_bytes)
        return time_s + self._cast_s(operator.cast_bytes) + operator.launches * LAUNCH_S

    def backward_s(self, operator: Operator) -> float:
        """Return the time of its backward pass; a product launches two kernels, a frozen one."""
        if operator.shape:
            rows, columns, inner = operator.shape
            num = operator.num
            arithmetic_s = self._products_s("grouped", rows, (inner, columns), num)
            if not operator.frozen:
                arithmetic_s += self._products_s("grouped_weights", rows, (columns, inner), num)
        else:
            arithmetic_s = operator.backward_flops / self._rate(operator, ATTENTION_BACKWARD)
        time_s = self._time_s(operator, arithmetic_s, operator.backward_bytes)
        two = operator.kind == "matmul" and not operator.frozen
        launches = 2 if two else operator.backward_launches
        return time_s + self._cast_s(operator.backward_cast_bytes) + launches * LAUNCH_S

    def optimizer_s(self, size_bytes: float) -> float:
        """Return the time of a weight update that moves *size_bytes*."""
        return size_bytes / (self.shares.optimizer * self.memory_bytes_per_s)

    @property
    def pointwise_bytes_per_s(self) -> float:
        """What sums and activations move a second."""
        return self.shares.pointwise * self.memory_bytes_per_s

    def _product_s(self, shape: tuple[float, float, float]) -> float:
        """Return the time of one product: its waves and ramp at the rate of a typical one."""
        time_s = ideal_s(shape, self.chip) * self.peak_flops / (self.matmul_flops * TYPICAL_EXCESS)
        return time_s + (FP8_START_S if self.casts else 0.0)

    def _products_s(
        self, kind: Grouped, rows: float, sides: tuple[float, float], num: float
    ) -> float:
        """Return the time of *num* products that share the rows, in one kernel where several."""
        columns, inner = sides
        if num <= 1:
            weights = kind == "grouped_weights"
            return self._product_s((columns, inner, rows) if weights else (rows, columns, inner))
        pace = self.peak_flops / (self.matmul_flops * TYPICAL_EXCESS)
        counts = balanced(rows, max(1, round(num)))
        return grouped_s(kind, counts, sides, self.chip, pace=pace) + START_S

    def _cast_s(self, size_bytes: float) -> float:
        if not (self.casts and size_bytes):
            return 0.0
        return size_bytes / (self.shares.pointwise * self.memory_bytes_per_s) + LAUNCH_S

    def _rate(self, operator: Operator, shares: dict[int, float]) -> float:
        if operator.kind == "scan":
            return SCAN_SHARE * self.attention_flops
        if operator.kind != "attention":
            return self.matmul_flops
        weight = min(1.0, max(0.0, (operator.head_dim - 64) / 64))
        share = (1 - weight) * shares[64] + weight * shares[128]
        long = operator.sequence / (operator.sequence + ATTENTION_HALF_TOKENS)
        return self.attention_flops * share * long

    def _time_s(self, operator: Operator, arithmetic_s: float, size_bytes: float) -> float:
        share = self.shares.norm if operator.kind == "norm" else self.shares.pointwise
        memory_s = size_bytes / (share * self.memory_bytes_per_s)
        if operator.kind == "scan":  # of its kernels some compute and others move
            return arithmetic_s + memory_s
        return max(arithmetic_s, memory_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """How long a set of operators takes, one micro-batch on one GPU.

    Attributes:
        recompute_s: Forward work done again in the backward pass.
        attention_s: The attention's share of the forward pass.
        attention_backward_s: And of the backward pass.
    """

    forward_s: float = 0.0
    backward_s: float = 0.0
    recompute_s: float = 0.0
    attention_s: float = 0.0
    attention_backward_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Forward, recomputation and backward."""
        return self.forward_s + self.recompute_s + self.backward_s

    def __add__(self, other: Costs) -> Costs:
        """Return the cost of both."""
        return Costs(
            forward_s=self.forward_s + other.forward_s,
            backward_s=self.backward_s + other.backward_s,
            recompute_s=self.recompute_s + other.recompute_s,
            attention_s=self.attention_s + other.attention_s,
            attention_backward_s=self.attention_backward_s + other.attention_backward_s,
        )

    def __mul__(self, count: float) -> Costs:
        """Return the cost of *count* of it."""
        return Costs(
            forward_s=self.forward_s * count,
            backward_s=self.backward_s * count,
            recompute_s=self.recompute_s * count,
            attention_s=self.attention_s * count,
            attention_backward_s=self.attention_backward_s * count,
        )


NO_COSTS: Final = Costs()


def costs(operators: Iterable[Operator], machine: Roofline, *, recompute: Recompute) -> Costs:
    """Return how long *operators* take on *machine*."""
    total = NO_COSTS
    for operator in operators:
        forward_s = machine.forward_s(operator)
        backward_s = machine.backward_s(operator)
        core = operator.core_attention
        again = (
            recompute == "full"
            or (recompute == "selective" and core)
            or (recompute == "light" and operator.cheap)
        )
        one = Costs(
            forward_s=forward_s,
            backward_s=backward_s,
            recompute_s=forward_s if again else 0.0,
            attention_s=forward_s if core else 0.0,
            attention_backward_s=backward_s if core else 0.0,
        )
        total += one if operator.share == 1 else one * operator.share
    return total


def roofline(gpu: Gpu, precision: Precision) -> Roofline:
    """Return what *gpu* sustains at *precision*.

    Raises:
        SpecError: the GPU does not have the precision.
    """
    peak = gpu.peak.at(precision)
    half = gpu.peak.bf16 or gpu.peak.fp16
    if peak is None or half is None:
        raise SpecError(
            key="job.training.precision",
            what=f"{gpu.name} has no {precision}",
            remedy=f"it has {gpu.peak.precisions()}",
        )
    shares = _measured_shares(gpu) if gpu.calibration else _typical_shares(gpu, half)
    matmul_flops = shares.product * peak * (FP8_SHARE if is_cast(precision) else 1.0)
    return Roofline(
        peak_flops=peak,
        matmul_flops=matmul_flops,
        attention_flops=half,
        memory_bytes_per_s=gpu.memory_rate_bps / 8,
        casts=is_cast(precision),
        chip=_chip(gpu, precision),
        shares=shares,
        validity=_validity(gpu),
        why=_why(gpu, precision, matmul_flops, shares),
    )


def _typical_shares(gpu: Gpu, half_flops: float) -> Shares:
    """Return the shares of the generation, over the best product measured on *gpu*."""
    best = gpu.matmul_flops / half_flops if gpu.matmul_flops else UNMEASURED_BEST
    known = _generation(gpu)
    if known is None or known.product is None:
        return Shares(product=best * TYPICAL_PRODUCT)
    return Shares(product=best * known.product.share, source=known.product.source)


def _generation(gpu: Gpu) -> GpuGeneration | None:
    name = gpu.architecture.lower()
    return GENERATIONS.get(name) if name in GENERATIONS else None


def _measured_shares(gpu: Gpu) -> Shares:
    """Return the shares that the user measured on *gpu*.

    Raises:
        SpecError: the calibration cannot be read.
    """
    device = calibrated(Path(gpu.calibration), _chip(gpu, "bf16" if gpu.peak.bf16 else "fp16"))
    source = Source(citation=gpu.calibration, confidence="measured")

    def share(*operators: str) -> float:
        rates = [device.memory_rate(name) for name in operators]
        return mean(rates) / (gpu.memory_rate_bps / 8)

    return Shares(
        product=math.exp(-device.burst) / (device.limit * TYPICAL_EXCESS),
        pointwise=share("residual_add", "silu_mul", "gelu"),
        norm=share("layernorm", "rmsnorm"),
        optimizer=share("adamw_fused"),
        source=source,
        memory_source=source,
    )


def _chip(gpu: Gpu, precision: Precision) -> Chip:
    known = _generation(gpu)
    return Chip(
        num_multiprocessors=(known and known.num_multiprocessors) or MAX_ALIKE,
        peak_flops=gpu.peak.at(precision) or 0.0,
        memory_bytes_per_s=gpu.memory_rate_bps / 8,
        element_bytes=product_bytes(precision),
    )


def _validity(gpu: Gpu) -> Validity:
    doubts = []
    known = _generation(gpu)
    if gpu.matmul_flops is None and not gpu.calibration:
        doubts.append(
            f"No matrix products on {gpu.name} were measured; "
            f"{UNMEASURED_BEST:.0%} of its peak is assumed."
        )
    if known is None or not known.has_measured_operators:
        doubts.append(
            f"Attention and memory-bound operators were measured on Hopper, not {gpu.architecture}."
        )
    if (known is None or known.product is None) and not gpu.calibration:
        doubts.append(
            f"No operator was measured on {gpu.architecture}; Hopper's shares of its peak and "
            f"memory rate are assumed: run 'netloom calibrate gpu' on one."
        )
    return Validity(tuple(doubts))


def _why(gpu: Gpu, precision: Precision, matmul_flops: float, shares: Shares) -> Why:
    peak = Why(
        name=f"{gpu.name} peak {precision}",
        value=gpu.peak.at(precision) or 0.0,
        unit="FLOP/s",
        source=gpu.source("peak"),
    )
    parts = (
        peak,
        *_why_product(gpu, shares),
        gpu.why("memory_rate_bps", unit="bit/s"),
        Why(name="memory share, pointwise", value=shares.pointwise, source=shares.memory_source),
        Why(name="memory share, norms", value=shares.norm, source=shares.memory_source),
        Why(name="attention share of peak", value=ATTENTION_FORWARD[128], source=ATTENTION_SOURCE),
        Why(name="launch", value=LAUNCH_S, unit="s", source=LAUNCH_SOURCE),
    )
    return Why(
        name="sustained matrix rate",
        value=matmul_flops,
        unit="FLOP/s",
        how="peak x typical product over peak; waves and ramp of each shape change it",
        parts=parts,
    )


def _why_product(gpu: Gpu, shares: Shares) -> tuple[Why, ...]:
    if gpu.calibration:
        name = "typical product over peak"
        return (Why(name=name, value=shares.product, source=shares.source),)
    name = "typical product over best"
    half_flops = gpu.peak.bf16 or gpu.peak.fp16
    if gpu.matmul_flops is None or half_flops is None:
        best = Why(name="best product over peak", value=UNMEASURED_BEST, source=UNMEASURED_SOURCE)
        return best, Why(name=name, value=shares.product / UNMEASURED_BEST, source=shares.source)
    typical = shares.product * half_flops / gpu.matmul_flops
    return (
        gpu.why("matmul_flops", unit="FLOP/s"),
        Why(name=name, value=typical, source=shares.source),
    )
