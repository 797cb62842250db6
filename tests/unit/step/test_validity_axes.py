"""A scenario with no measured step near it on any one axis is outside, and names that axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from netloom.validated.axes import AXES, StepPoint, axis_named
from netloom.validated.near import kind_of, rows_of_kind, step_doubts
from netloom.validated.steps import judged_rows

# Llama 3.1 405B in bf16 on 576 H100 by Megatron-Core: row nvidia_dgxc-0119 and its neighbours.
MET = next(row.point for row in judged_rows() if row.row_id == "nvidia_dgxc-0119")


def test_a_measured_step_that_is_met_is_inside() -> None:
    assert list(step_doubts(MET)) == []


FAR = {
    "generation": ("rubin", "GPU generation rubin"),
    "precision": ("fp4", "precision fp4"),
    "software": ("nanoGPT", "software nanoGPT"),
    "num_gpus": (10**6, "number of GPUs 1,000,000"),
    "parameters": (1e14, "number of parameters 1e+05B"),
    "sequence": (2**20, "sequence 1,048,576"),
    "tensor": (64, "tensor degree 64"),
    "pipeline": (256, "pipeline degree 256"),
    "virtual_pipeline": (64, "virtual degree 64"),
    "context": (64, "context degree 64"),
    "expert": (8, "expert degree 8"),
    "micro_batches": (10**5, "number of micro-batches 100,000"),
    "scale_up": (576, "scale-up size 576"),
    "recompute": ("light", "recompute light"),
}


@pytest.mark.parametrize("axis", [axis.name for axis in AXES if axis.is_judged])
def test_an_axis_on_which_nothing_near_was_measured_is_named(axis: str) -> None:
    if axis == "layers":
        pytest.skip("both kinds of layers were measured")
    value, words = FAR[axis]
    moved: dict[str, Any] = {axis: value}
    doubts = list(step_doubts(replace(MET, **moved)))
    assert any(words in doubt for doubt in doubts), doubts
    named = next(doubt for doubt in doubts if words in doubt)
    assert "nearest is" in named or "measured were" in named


def test_what_is_nearest_is_said() -> None:
    [doubt] = step_doubts(replace(MET, sequence=2**20))
    rows = rows_of_kind(kind_of(MET)).rows
    nearest = max(row.point.sequence for row in rows)
    assert f"nearest is {nearest:,}" in doubt


def test_twice_a_measured_value_is_near_and_four_times_is_not() -> None:
    axis = axis_named("num_gpus")
    assert axis.is_near(1024, 512)
    assert axis.is_near(256, 512)
    assert not axis.is_near(2048, 512)


def test_no_communication_is_near_none_only() -> None:
    # A degree of 1 has no collective; rows of degree 2 say nothing of it, nor it of them.
    assert not axis_named("tensor").is_near(2, 1)
    assert not axis_named("context").is_near(1, 2)
    assert axis_named("context").is_near(2, 4)


def test_both_formats_of_16_bits_are_one() -> None:
    assert axis_named("precision").is_near("fp16", "bf16")
    assert not axis_named("precision").is_near("fp8", "bf16")


def test_a_kind_of_step_that_is_not_met_says_by_how_much() -> None:
    # MaxText's rows on H100 come out 15 % off in the median.
    maxtext = next(row.point for row in judged_rows() if row.point.software == "maxtext")
    [doubt] = rows_of_kind(kind_of(maxtext)).doubts
    assert "maxtext" in doubt
    assert "% off in the median" in doubt


def test_a_point_knows_whether_it_leaves_its_scale_up_network() -> None:
    assert replace(MET, num_gpus=8, scale_up=8).nodes == "one"
    assert replace(MET, num_gpus=16, scale_up=8).nodes == "many"


def test_every_axis_is_a_field_of_a_point() -> None:
    assert all(hasattr(MET, axis.name) for axis in AXES)
    assert isinstance(MET, StepPoint)
