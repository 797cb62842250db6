"""Whole steps of thousands of GPUs on rails fit into memory: one lane stands for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.study.packet_step.case import MAX_BYTES, step_case
from netloom.study.simulate.memory import need_of
from netloom.study.simulate.run import run_case

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.spec.scenario import Scenario


def text(gpus: int, batch: int, topology: str = "rail-only") -> str:
    """Return GPT-3 175B on rails of InfiniBand, eight stages of eight GPUs a replica."""
    return f"""
cluster:
  gpus: {gpus}
  node: dgx-h100
  fabric: {{technology: infiniband-ndr, topology: {{kind: {topology}}}}}
job:
  model: gpt-3-175b
  training: {{sequence: 2048, global_batch: {batch}, precision: bf16}}
  parallel: {{tensor: 8, pipeline: 8, data: {gpus // 64}, zero: 1}}
"""


def scenario(folder: Path, gpus: int, batch: int, topology: str = "rail-only") -> Scenario:
    path = folder / "job.yaml"
    path.write_text(text(gpus, batch, topology))
    return nl.load(path)


def test_a_step_of_1024_gpus_is_one_lane_of_128(tmp_path: Path) -> None:
    # 2 micro-batches, so that what is moved is little.
    case = step_case(scenario(tmp_path, 1024, 32), load_catalog(), lanes_from=0)
    run = run_case(case).first
    assert run.copies == 8
    assert (run.transfers.source % 8 == 0).all()
    assert run.step is not None
    assert run.delivery.simulated_share < 0.01
    assert run.step.duration_s == pytest.approx(run.step.predicted_s, rel=0.1)


@pytest.mark.long
def test_a_step_of_10240_gpus_is_laid_out_as_one_lane_of_1280(tmp_path: Path) -> None:
    case = step_case(scenario(tmp_path, 10_240, 7680), load_catalog())
    assert case.lanes is not None
    assert case.lanes.count == 8
    rows = case.traffic(0)
    need = need_of(case.runner, rows).peak_bytes(num_runs=1, num_workers=1)
    assert need < MAX_BYTES
    assert 7_000_000 < int((rows.size_bytes > 0).sum()) <= 57_384_960 // 8
