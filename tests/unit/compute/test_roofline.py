"""The roofline, its bounds, and what it says when nobody measured."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import pytest

from netloom.compute.device import h200
from netloom.compute.gemm import Chip, measured_excess
from netloom.compute.generation import GENERATIONS
from netloom.compute.roofline import (
    FP8_SHARE,
    FP8_START_S,
    LAUNCH_S,
    POINTWISE_SHARE,
    TYPICAL_EXCESS,
    costs,
    roofline,
)
from netloom.compute.tables import COLUMNS, shipped_table
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.workload.flops import Operator, Shard, layer_operators
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from netloom.parts.parts import Gpu, Model


def product(flops: float, size_bytes: float) -> Operator:
    return Operator(
        name="product",
        kind="matmul",
        flops=flops,
        size_bytes=size_bytes,
        backward_flops=2 * flops,
        backward_bytes=2 * size_bytes,
    )


def test_a_large_product_runs_at_the_measured_share_of_peak(gpu_of: Callable[[str], Gpu]) -> None:
    # H100: 989 peak x (794.5 / 989) best x (681 / 794.5) typical = 681 TFLOP/s.
    machine = roofline(gpu_of("H100"), "bf16")
    assert machine.forward_s(product(6.81e14, 1e6)) == pytest.approx(1.0 + LAUNCH_S, rel=1e-9)


def test_a_thin_product_runs_at_the_memory_rate(gpu_of: Callable[[str], Gpu]) -> None:
    machine = roofline(gpu_of("H100"), "bf16")
    expected = 3.35e9 / (POINTWISE_SHARE * 3.35e12) + LAUNCH_S
    assert machine.forward_s(product(1e6, 3.35e9)) == pytest.approx(expected)


def test_a_precision_the_gpu_lacks_is_refused(gpu_of: Callable[[str], Gpu]) -> None:
    with pytest.raises(SpecError, match="A100 has no fp8; it has bf16, fp16"):
        roofline(gpu_of("A100"), "fp8")


def test_a_gpu_that_nobody_measured_is_in_doubt(gpu_of: Callable[[str], Gpu]) -> None:
    measured = gpu_of("H100")
    unmeasured = measured.model_copy(update={"matmul_flops": None})
    assert roofline(measured, "bf16").validity.inside
    assert "No matrix products on" in roofline(unmeasured, "bf16").validity.doubts[0]


def test_fp8_is_faster_but_not_twice(
    gpu_of: Callable[[str], Gpu], model_of: Callable[..., Model]
) -> None:
    shard = Shard(micro_batch=1, sequence=8192, tensor=8)
    operators = layer_operators(transformer(model_of("llama-3.1-405b")), shard, moe=False)
    slow, fast = (
        costs(operators, roofline(gpu_of("H100"), precision), recompute="none").total_s
        for precision in ("bf16", "fp8")
    )
    assert 1.2 < slow / fast < 2.0


def test_recomputation_repeats_the_forward_pass_or_its_attention(
    gpu_of: Callable[[str], Gpu], model_of: Callable[..., Model]
) -> None:
    shard = Shard(micro_batch=4, sequence=2048, tensor=8)
    operators = layer_operators(transformer(model_of("gpt-22b")), shard, moe=False)
    machine = roofline(gpu_of("A100"), "fp16")
    none, selective, full = (
        costs(operators, machine, recompute=how) for how in ("none", "selective", "full")
    )
    assert none.recompute_s == 0
    assert selective.recompute_s == selective.attention_s
    assert full.recompute_s == full.forward_s
    assert none.forward_s == selective.forward_s == full.forward_s


def test_a_product_that_fills_half_a_wave_is_slower_for_its_work(
    gpu_of: Callable[[str], Gpu],
) -> None:
    # 132 tiles of 128 by 128 fill an H100 once; half of them leave half of it idle.
    machine = roofline(gpu_of("H100"), "bf16")
    rates = []
    for rows in (22 * 128, 11 * 128):
        flops = 2.0 * rows * 6 * 128 * 8192
        shaped = replace(product(flops, 1.0), shape=(float(rows), 6 * 128.0, 8192.0))
        rates.append(flops / (machine.forward_s(shaped) - LAUNCH_S))
    assert rates[0] > 1.2 * rates[1]


@pytest.mark.parametrize(
    ("name", "share"),
    [
        # A100 SXM: best 271.2 x 0.907; H100: best 794.5 x 681 / 794.5; B200: 1745 x 0.660.
        ("A100-SXM-80GB", 271.2 * 0.907 / 312),
        ("H100-SXM-80GB", 681 / 989),
        ("B200-SXM", 1745 * 0.660 / 2250),
    ],
)
def test_a_typical_product_is_that_of_the_generation(name: str, share: float) -> None:
    gpu = load_catalog().gpu(name)
    assert gpu.peak.bf16
    assert roofline(gpu, "bf16").matmul_flops / gpu.peak.bf16 == pytest.approx(share, rel=1e-3)


def test_a_generation_nobody_measured_says_so() -> None:
    doubts = roofline(load_catalog().gpu("MI300X"), "bf16").validity.doubts
    assert any("No operator was measured on CDNA 3" in doubt for doubt in doubts)


def test_a_calibration_in_your_own_file_is_used(tmp_path: Path) -> None:
    # Every operator of the shipped H200 a tenth slower: so are its products and its sums.
    lines = [
        f"{row.operator},{row.precision},{'x'.join(map(str, row.shape))},{1.1e6 * row.time_s},me"
        for row in shipped_table("h200")
    ]
    (tmp_path / "slow.csv").write_text("\n".join([",".join(COLUMNS), *lines]))
    (tmp_path / "own.toml").write_text('[gpus.H200-SXM]\ncalibration = "slow.csv"')
    shipped = roofline(load_catalog().gpu("H200-SXM"), "bf16")
    slow = roofline(load_catalog(tmp_path / "own.toml").gpu("H200-SXM"), "bf16")
    assert shipped.matmul_flops / slow.matmul_flops == pytest.approx(1.1, rel=0.01)
    assert slow.shares.source.citation == str(tmp_path / "slow.csv")
    assert slow.shares.pointwise == pytest.approx(0.85 / 1.1, rel=0.03)


def test_a_calibration_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[gpus.H200-SXM]\ncalibration = "none.csv"')
    with pytest.raises(SpecError, match=r"none\.csv: cannot be read"):
        roofline(load_catalog(tmp_path / "own.toml").gpu("H200-SXM"), "bf16")


def test_the_constants_of_the_roofline_are_those_of_the_tables() -> None:
    # Products at the power limit, of whole waves and without ramp: 687.5 TFLOP/s on the H200.
    device = h200()
    limit_flops = device.chip.peak_flops * math.exp(-device.burst) / device.limit
    assert limit_flops == pytest.approx(TYPICAL_EXCESS * 681e12, rel=2e-3)
    products = [row for row in device.rows if row.operator == "gemm_tn" and row.precision == "bf16"]
    work = [(2.0 * math.prod(row.shape), row.time_s) for row in products]
    assert median(f / t for f, t in work if f >= 1e11) == pytest.approx(681e12, rel=5e-3)


def test_the_share_of_fp8_products_is_that_of_the_table_without_its_ramp() -> None:
    # Pairs of one shape in fp8 and bf16 whose fp8 product takes 0.1 ms and more: 1.818 apart as
    # measured; over ideal times, which have the ramp, and less 7.4 us of start.
    half = h200().chip
    eighth = replace(half, peak_flops=1979e12, element_bytes=1.0)
    rows = {(r.precision, r.shape): r for r in h200().rows if r.operator == "gemm_tn"}
    long = [shape for kind, shape in rows if kind == "fp8" and rows["fp8", shape].time_s >= 1e-4]
    pairs = [(rows["fp8", s], rows["bf16", s]) for s in long if ("bf16", s) in rows]
    assert median(b.time_s / a.time_s for a, b in pairs) == pytest.approx(1.818, abs=1e-3)
    shares = [
        math.exp(
            measured_excess(b, half)
            - measured_excess(replace(a, time_s=a.time_s - FP8_START_S), eighth)
        )
        for a, b in pairs
    ]
    assert median(shares) == pytest.approx(FP8_SHARE, abs=0.03)


@pytest.mark.parametrize(
    ("table", "generation", "chip", "best_flops"),
    [
        ("a100", "ampere", (108, 312e12, 1.94e12), 252.9e12),
        ("b200", "blackwell", (148, 2250e12, 8e12), 1745e12),
    ],
)
def test_the_share_of_a_generation_is_that_of_its_table(
    table: str, generation: str, chip: tuple[int, float, float], best_flops: float
) -> None:
    # Three layouts, a third of a step each: the harmonic mean of their medians.
    num, peak, memory = chip
    where = Chip(num_multiprocessors=num, peak_flops=peak, memory_bytes_per_s=memory)
    times = [
        math.exp(
            median(measured_excess(r, where) for r in shipped_table(table) if r.operator == layout)
        )
        for layout in ("gemm_tn", "gemm_nn", "gemm_nt")
    ]
    share = 3 / sum(times) * peak / best_flops / TYPICAL_EXCESS
    product = GENERATIONS.get(generation).product
    assert product is not None
    assert share == pytest.approx(product.share, rel=2e-3)
