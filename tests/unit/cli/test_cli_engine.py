from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
cluster: {gpus: 1024, fabric: {technology: rocev2-400g}}
job:
  model: llama-2-7b
  training: {sequence: 4096, global_batch: 1024, micro_batch: 1}
  parallel: {tensor: 2}
  placement: {kind: scattered}
compare: [rocev2-400g, infiniband-ndr]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return str(path)


def step_s(capsys: pytest.CaptureFixture[str], *arguments: str) -> float:
    main(["predict", *arguments, "--json"])
    found: float = json.loads(capsys.readouterr().out)["result"]["step_time_s"]
    return found


def test_predict_takes_an_engine_and_a_seed(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = step_s(capsys, scenario)
    one = step_s(capsys, scenario, "--engine", "flow")
    again = step_s(capsys, scenario, "--engine", "flow", "--seed", "0")
    other = step_s(capsys, scenario, "--engine", "flow", "--seed", "5")
    assert one == again
    assert one != other
    assert one == pytest.approx(closed, rel=0.1)


def test_compare_takes_an_engine(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", scenario, "--engine", "flow", "--json"])
    found = json.loads(capsys.readouterr().out)["result"]
    assert [row["technology"] for row in found["technologies"]] == ["rocev2-400g", "infiniband-ndr"]


def test_a_negative_seed_is_refused(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", scenario, "--engine", "flow", "--seed", "-1"]) == 2
    assert "seed: -1 is negative; use 0 or more" in capsys.readouterr().err
