"""Products: tiles, waves and ramp."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.compute.gemm import RAMP_S, WAVE_SHARE, Chip, ideal_s, measured_excess, wave_excess
from netloom.compute.tables import TimedOperator

H200 = Chip(num_multiprocessors=132, peak_flops=989e12, memory_bytes_per_s=4.8e12)
sizes = st.integers(min_value=1, max_value=2**17)


def test_a_product_of_whole_waves_pays_for_nothing_else() -> None:
    # 132 tiles of 128 by 128 on 132 multiprocessors: 11 by 12 tiles.
    assert wave_excess(11 * 128, 12 * 128, 132) == pytest.approx(1.0)


def test_one_tile_more_than_a_wave_costs_a_second_one() -> None:
    # 19 x 7 tiles of 128 by 128 are 133, two waves of 132; 128 by 192 needs 19 x 5 = 95 tiles in
    # one wave, 132 x 128 x 192 / (2432 x 896) = 1.489; 128 by 256 19 x 4 = 76 in one, 1.985.
    assert wave_excess(19 * 128, 7 * 128, 132) == pytest.approx(1.489, abs=1e-3)


def test_a_short_inner_loop_pays_its_ramp() -> None:
    # 1.5 us at 989 / 132 TFLOP/s are 171 terms of a tile of 128 by 256: with 171 terms, half the
    # time is ramp. Waves are equal, so they cancel.
    inner = RAMP_S * 989e12 / 132 / (2 * 128 * 256)
    assert inner == pytest.approx(171, abs=1)
    short = ideal_s((8192, 8192, inner), H200) / (2 * 8192 * 8192 * inner / 989e12)
    long = ideal_s((8192, 8192, 1e9), H200) / (2 * 8192 * 8192 * 1e9 / 989e12)
    assert short / long == pytest.approx(2.0, rel=1e-3)


def test_a_thin_product_is_bound_by_memory() -> None:
    # 64 rows of 16384 by 16384: the weight alone, 537 MB, takes 112 us at 4.8 TB/s.
    moved = 2 * (64 * 16384 + 16384 * 16384 + 64 * 16384)
    assert ideal_s((64, 16384, 16384), H200) == pytest.approx(moved / 4.8e12)


@given(rows=sizes, columns=sizes)
def test_waves_never_save_time(rows: int, columns: int) -> None:
    assert wave_excess(rows, columns, 132) >= 1.0 - 1e-12


@given(rows=sizes, columns=sizes, inner=sizes)
def test_no_product_is_faster_than_the_peak_or_the_memory(
    rows: int, columns: int, inner: int
) -> None:
    time_s = ideal_s((rows, columns, inner), H200)
    assert time_s >= 2 * rows * columns * inner / 989e12
    assert time_s >= 2 * (rows * columns + rows * inner + columns * inner) / 4.8e12


@given(rows=sizes, columns=sizes, inner=sizes)
def test_a_longer_inner_loop_takes_longer(rows: int, columns: int, inner: int) -> None:
    assert ideal_s((rows, columns, inner + 1), H200) > ideal_s((rows, columns, inner), H200)


def test_the_excess_of_a_product_is_that_over_its_ideal_time() -> None:
    # A quarter over its ideal time, and 4 us to start.
    shape = (2048, 4096, 8192)
    row = TimedOperator(
        operator="gemm_tn",
        precision="bf16",
        shape=shape,
        time_s=1.25 * ideal_s(shape, H200) + 4e-6,
        source="made up",
    )
    assert measured_excess(row, H200) == pytest.approx(math.log(1.25))


def test_half_a_wave_is_partly_paid() -> None:
    # 66 tiles of 128 by 128 fill half of 132 multiprocessors: twice the time, to the 0.35th.
    half, full = (ideal_s((rows * 128, 6 * 128, 8192), H200) for rows in (11, 22))
    assert half / full == pytest.approx(2**WAVE_SHARE / 2, rel=1e-6)
