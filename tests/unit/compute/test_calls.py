"""Devices and calls: the host, the clock and the power limit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from netloom.compute.calls import call
from netloom.compute.device import MEMORY_POWER, calibrated, h200
from netloom.compute.gemm import ideal_s
from netloom.compute.kernels import Kernel
from netloom.compute.tables import COLUMNS, TimedOperator

if TYPE_CHECKING:
    from pathlib import Path

LARGE = Kernel(operator="gemm_tn", shape=(8192, 8192, 8192))
ADD = Kernel(operator="residual_add", shape=(8192,), size_bytes=1e9)
TINY = Kernel(operator="gelu", shape=(64,), size_bytes=1e3)


def test_kernels_bound_by_memory_never_slow_down() -> None:
    assert h200().slowdown([ADD, TINY]) == 1.0
    assert h200().time_s(ADD, 1.2) == h200().time_s(ADD, 1.0)


def test_a_product_alone_slows_by_the_root_of_the_power_it_draws() -> None:
    # With nothing else running, energy a / s = b s, so s = sqrt(a / b) = sqrt(power).
    device = h200()
    work = 2 * 8192**2 * (8192 + device.chip.ramp_inner)
    useful = work / device.chip.peak_flops / ideal_s((8192, 8192, 8192), device.chip)
    assert device.slowdown([LARGE]) == pytest.approx(device.limit * math.sqrt(useful))


def test_rest_at_low_power_lets_products_run_faster() -> None:
    device = h200()
    alone, mixed = device.slowdown([LARGE]), device.slowdown([LARGE, ADD, ADD])
    assert 1.0 < mixed < alone
    # The balance itself: energy drawn over the call equals the limit times its duration.
    product_s = device.time_s(LARGE)
    add_s = 2 * device.time_s(ADD)
    drawn = product_s * alone**2 / mixed + add_s * MEMORY_POWER
    assert drawn == pytest.approx(product_s * mixed + add_s)


def test_tiny_kernels_take_as_long_as_the_host_needs_to_launch_them() -> None:
    # The smallest GELU of the table takes 21.79 us, whatever the GPU does in it.
    found = call([TINY] * 100, h200(), launched=True)
    assert found.duration_s == pytest.approx(100 * 21.79e-6)
    assert found.busy_s < found.host_s


def test_a_host_that_is_ahead_adds_nothing() -> None:
    found = call([LARGE] * 3, h200(), launched=True)
    assert found.duration_s == pytest.approx(found.busy_s)
    assert found.duration_s == call([LARGE] * 3, h200(), launched=False).duration_s


def test_a_long_call_runs_slower_per_kernel_than_a_short_one() -> None:
    device = h200()
    short = device.time_s(LARGE)
    long = call([LARGE] * 100, device, launched=False).duration_s
    assert long / (100 * short) == pytest.approx(device.slowdown([LARGE]), rel=0.01)


def test_the_duration_of_a_call_grows_with_each_kernel() -> None:
    durations = [call([LARGE] * count, h200(), launched=False).duration_s for count in range(1, 20)]
    assert durations == sorted(durations)


def test_measured_layouts_replace_the_assumed_ones() -> None:
    device = h200()
    shape = (8192, 8192, 8192)
    forward = next(r for r in device.rows if r.operator == "gemm_tn" and r.shape == shape)
    slow = TimedOperator(
        operator="gemm_nt",
        precision="bf16",
        shape=shape,
        time_s=1.3 * forward.time_s,
        source="made up",
    )
    backward = replace(LARGE, operator="gemm_nt")
    changed = replace(device, rows=(*device.rows, slow))
    # 4 us of each are the kernel's start, which is not slower.
    assert changed.time_s(backward) - 4e-6 == pytest.approx(1.3 * (device.time_s(LARGE) - 4e-6))


def test_a_calibration_of_one_operator_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    # 16384 x 8192 values, 6 bytes each: 805 MB in 400 us less 4.
    path.write_text(f"{','.join(COLUMNS)}\nresidual_add,bf16,16384x8192,400,me\n")
    device = calibrated(path)
    assert device.memory_rate("residual_add") == pytest.approx(6 * 16384 * 8192 / 396e-6)
    assert device.time_s(LARGE) == h200().time_s(LARGE)


def test_a_calibration_cut_short_is_not_used_for_what_it_hardly_has(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = "".join(f"gemm_tn,bf16,4096x4096x{1024 * k},{999 * k},me\n" for k in range(1, 5))
    path.write_text(f"{','.join(COLUMNS)}\n{rows}attention_forward,bf16,1x4096x8x128,9000,me\n")
    assert calibrated(path).time_s(LARGE) == h200().time_s(LARGE)


def test_heads_between_two_sizes_cost_as_much_as_the_larger() -> None:
    # Kernels pad: 96 runs as 128, and takes as long.
    padded, whole = (
        h200().time_s(Kernel(operator="attention_forward", shape=(1, 8192, 16, head_dim)))
        for head_dim in (96, 128)
    )
    assert padded == pytest.approx(whole)
