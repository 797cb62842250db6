"""Grouped products: tiles of all groups share the waves, and the profiled ones are met."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from importlib import resources
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.compute.device import h200
from netloom.compute.grouped import START_S, balanced, busy_share, grouped_kind, grouped_s, skewed

CHIP = h200().chip
PACE = math.exp(h200().burst)
KINDS = {
    ("grouped_mm", "forward"): "grouped",
    ("grouped_mm", "input_gradient"): "grouped",
    ("grouped_mm", "weight_gradient"): "grouped_weights",
    ("bmm", "forward"): "batched",
    ("fp8_rowwise", "forward"): "fp8_grouped",
}


def _errors(implementation: str) -> list[float]:
    """Return by how much each profiled product is off, in percent."""
    text = resources.files("netloom.compute").joinpath("data", "h200_grouped.csv")
    found = []
    for row in csv.DictReader(text.read_text("utf-8").splitlines()):
        if row["implementation"] != implementation:
            continue
        kind = grouped_kind(KINDS[implementation, row["kind"]])
        rows, num = int(row["rows"]), int(row["groups"])
        counts = skewed(rows, num) if row["load"] == "skewed" else balanced(rows, num)
        columns, inner = int(row["columns"]), int(row["inner"])
        sides = (inner, columns) if row["kind"] == "input_gradient" else (columns, inner)
        eight = replace(CHIP, peak_flops=2 * CHIP.peak_flops, element_bytes=1.0)
        chip = eight if kind == "fp8_grouped" else CHIP
        time_s = grouped_s(kind, counts, sides, chip, pace=PACE) + START_S
        found.append(100 * abs(time_s / (1e-6 * float(row["time_us"])) - 1))
    return found


@pytest.mark.parametrize(
    ("implementation", "number", "middle", "tenth"),
    [("grouped_mm", 408, 2.5, 7.5), ("bmm", 24, 3.5, 10.0)],
)
def test_profiled_products_are_met(
    implementation: str, number: int, middle: float, tenth: float
) -> None:
    errors = _errors(implementation)
    assert len(errors) == number
    assert median(errors) <= middle
    assert np.quantile(errors, 0.9) <= tenth


def test_waves_are_counted_over_all_groups_not_in_each() -> None:
    # 33 groups of 512 rows by 256 columns are 33 x 4 tiles: one wave of 132, not 33 of them.
    together = grouped_s("grouped", balanced(33 * 512, 33), (256, 65_536), CHIP)
    apart = 33 * grouped_s("grouped", balanced(512, 1), (256, 65_536), CHIP)
    assert together < 0.2 * apart


def test_a_group_that_does_not_fill_its_tiles_pays_for_them() -> None:
    full = grouped_s("grouped", balanced(32 * 256, 32), (4096, 65_536), CHIP)
    over = grouped_s("grouped", balanced(32 * 257, 32), (4096, 65_536), CHIP)
    assert over > 1.4 * full  # a second cluster of tiles for one row


def test_few_rows_a_group_wait_for_the_weights() -> None:
    few = grouped_s("grouped", balanced(256, 32), (4096, 4096), CHIP)
    weights_s = 32 * 4096 * 4096 * 2 / CHIP.memory_bytes_per_s
    assert few > weights_s
    assert busy_share("grouped", balanced(256, 32), (4096, 4096), CHIP, PACE) < 0.2


@given(
    rows=st.integers(256, 65_536),
    num=st.integers(1, 64),
    columns=st.integers(256, 16_384),
    inner=st.integers(256, 16_384),
)
def test_no_grouped_product_beats_the_peak_or_the_memory(
    rows: int, num: int, columns: int, inner: int
) -> None:
    counts = skewed(rows, num)
    assert sum(counts) == pytest.approx(rows)
    time_s = grouped_s("grouped", counts, (columns, inner), CHIP)
    assert time_s >= 2 * rows * columns * inner / CHIP.peak_flops
    assert time_s >= 2 * num * columns * inner / CHIP.memory_bytes_per_s
