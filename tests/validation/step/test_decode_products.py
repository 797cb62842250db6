"""Operators of a decode step against those measured on one H200 (PyTorch 2.11, CUDA 13).

Products of a few rows stream their weights, attention of one token streams its cache. None of the
roofline's constants was taken from these rows.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean, median

import pytest

from netloom.compute.roofline import roofline
from netloom.parts.load import load_catalog
from netloom.workload.flops import Operator

pytestmark = pytest.mark.validation

DATA = Path(__file__).parents[2] / "data"
ROWS = DATA / "decode_products_h200.csv"
ATTENTIONS = DATA / "decode_attention_h200.csv"
# Pairs of a request and a key-value head that give each of the 132 multiprocessors work: PyTorch's
# kernel does not divide one pair's context, as those of serving libraries do.
ENOUGH_PAIRS = 128


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


def test_attention_of_one_token_streams_its_cache_as_fast_as_measured() -> None:
    gpu = roofline(load_catalog().gpu("H200-SXM"), "bf16")
    errors = []
    with ATTENTIONS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            keys = ("requests", "kv_heads", "query_heads", "context", "head_dim")
            requests, kv_heads, heads, context, width = (int(row[key]) for key in keys)
            if requests * kv_heads < ENOUGH_PAIRS:
                continue
            one = Operator(
                name="attention",
                kind="attention",
                flops=4.0 * requests * context * heads * width,
                size_bytes=4.0 * requests * context * kv_heads * width,
                backward_flops=0.0,
                backward_bytes=0.0,
                sequence=context,
                head_dim=width,
            )
            errors.append(gpu.forward_s(one) / (float(row["time_us"]) * 1e-6) - 1)
    assert len(errors) == 9
    assert max(map(abs, errors)) < 0.17, errors
    assert abs(mean(errors)) < 0.09, errors
