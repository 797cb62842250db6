"""Products of a few rows against 130 measured in CUDA graphs on one H200 (PyTorch 2.11, CUDA 13).

They stream their weights, as those of a decode step do. None of the roofline's constants was
taken from them.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean, median

import pytest

from netloom.catalog.load import load_catalog
from netloom.compute.roofline import roofline
from netloom.workload.flops import Operator

pytestmark = pytest.mark.validation

ROWS = Path(__file__).parents[1] / "data" / "decode_products_h200.csv"


def test_products_of_few_rows_take_as_long_as_measured() -> None:
    gpu = roofline(load_catalog().gpu("H200-SXM"), "bf16")
    errors = []
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows, columns, inner = (int(row[key]) for key in ("rows", "columns", "inner"))
            one = Operator(
                name="product",
                kind="matmul",
                flops=2.0 * rows * columns * inner,
                size_bytes=2.0 * (rows * (columns + inner) + columns * inner),
                backward_flops=0.0,
                backward_bytes=0.0,
            )
            errors.append(gpu.forward_s(one) / (float(row["time_us"]) * 1e-6) - 1)
    assert len(errors) == 130
    assert median(map(abs, errors)) < 0.10
    assert abs(mean(errors)) < 0.08
