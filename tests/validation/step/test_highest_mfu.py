"""The highest published MFU by generation, counted again from the shipped rows."""

from __future__ import annotations

from collections import defaultdict

import pytest

from netloom.errors import NetloomError
from netloom.parts.load import load_catalog
from netloom.step.residual import generation_of
from netloom.study.plan.efficiency import HIGHEST, efficiency_validity, highest_of
from netloom.validation.steps.cases import cases_of
from netloom.validation.steps.suite import shipped_step_rows
from netloom.workload.flops import step_flops
from netloom.workload.transformer import transformer

pytestmark = pytest.mark.validation

CATALOG = load_catalog()


def measured() -> dict[tuple[str, bool], dict[str, float]]:
    """Return the MFU of every dense row without doubts, by generation and whether it is fp8."""
    found: dict[tuple[str, bool], dict[str, float]] = defaultdict(dict)
    for row in shipped_step_rows():
        try:
            case = cases_of(row, CATALOG)[0]
        except NetloomError:
            continue  # a GPU or model that the catalogue does not have
        training, gpu = case.job.trained, case.network.gpu
        peak = getattr(gpu.peak, training.precision)
        if case.doubts or case.model.num_experts or not peak:
            continue
        needed, _ = step_flops(transformer(case.model), training)
        mfu = needed / row.num_gpus / peak / row.measured_s
        found[generation_of(gpu), training.precision == "fp8"][row.row_id] = mfu
    return found


def test_the_highest_are_those_of_the_shipped_rows() -> None:
    counted = measured()
    assert counted.keys() == HIGHEST.keys()
    for key, rows in counted.items():
        row_id = max(rows, key=rows.__getitem__)
        assert HIGHEST[key].row_id == row_id
        assert HIGHEST[key].mfu == pytest.approx(rows[row_id], abs=5e-5)


def test_megascale_published_nearly_the_same_share_itself() -> None:
    # Row megascale-0006 is 63.5 % by MegaScale's own count (arXiv:2402.15627).
    assert HIGHEST["ampere", False].mfu == pytest.approx(0.635, abs=0.001)


def test_a_step_above_the_highest_is_in_doubt_with_number_and_source() -> None:
    gpu = CATALOG.gpu(CATALOG.node("dgx-a100").gpu)
    assert efficiency_validity(gpu, "bf16", mfu=0.634).inside
    (doubt,) = efficiency_validity(gpu, "bf16", mfu=0.695).doubts
    assert "69.5% MFU" in doubt
    assert "63.4%" in doubt
    assert "arXiv:2402.15627" in doubt


def test_where_nothing_was_measured_nothing_is_doubted() -> None:
    gpu = CATALOG.gpu("B200-SXM")
    assert highest_of(gpu, "fp8") is None
    assert efficiency_validity(gpu, "fp8", mfu=0.9).inside
