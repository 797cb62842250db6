"""The operator model against whole training steps on one H200.

PyTorch 2.11, CUDA 13, eager: GPT of 0.36 and 1.3 billion parameters. No step was used to set a
constant.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main
from netloom.validation.layers.suite import read_timed, shipped_timed, validate_timed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.validation

LOG = logging.getLogger(__name__)


def test_each_step_is_within_six_percent() -> None:
    found = validate_timed(shipped_timed("gpu-steps"), "gpu-steps")
    LOG.info("steps: %s", ", ".join(f"{row.error_pct:+.1f}" for row in found.per_row))
    assert found.rows == found.inside == 3
    assert found.most_abs_error_pct is not None
    assert found.most_abs_error_pct <= 6.0
    assert found.bound_ok


def test_the_command_prints_them_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "gpu-steps", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["suite"] == "gpu-steps"
    assert found["bound_ok"]
    assert "per_row" not in found


def test_a_step_that_took_twice_as_long_is_over_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    head = "layers,hidden,heads,seq,micro_batch,accumulate,vocab,params,ms,peak_gib"
    path.write_text(f"{head}\n24,2048,16,2048,4,1,51200,1317654528,275,24.2\n")
    assert not validate_timed(read_timed(path, "gpu-steps"), "gpu-steps").bound_ok
    assert main(["validate", "gpu-steps", "--data", str(path)]) == 1


def test_parameters_left_out_are_counted(tmp_path: Path) -> None:
    # 24 layers of 12 h^2 + 13 h, 51,200 + 2,048 embeddings and a norm: what the row states.
    path = tmp_path / "own.csv"
    head = "layers,hidden,heads,seq,micro_batch,accumulate,vocab"
    given = f"{head},params,ms\n24,2048,16,2048,4,1,51200,1317654528,137\n"
    path.write_text(given)
    (stated,) = validate_timed(read_timed(path, "gpu-steps"), "gpu-steps").per_row
    path.write_text(f"{head},ms\n24,2048,16,2048,4,1,51200,137\n")
    (counted,) = validate_timed(read_timed(path, "gpu-steps"), "gpu-steps").per_row
    assert counted.predicted == pytest.approx(stated.predicted, rel=1e-5)
