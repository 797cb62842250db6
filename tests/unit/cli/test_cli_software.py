"""Training software and published figures, through the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main
from netloom.spec.example import example_text

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
cluster: {gpus: 64}
job:
  model: llama-3.1-8b
  training: {global_batch: 64}
  parallel: {tensor: 2}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(SCENARIO)
    return path


def test_predict_says_which_software_it_assumed(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["predict", str(file)])
    assert "software NeMo 2025 (by default; name yours in job.software)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_predict_says_that_old_software_has_no_fused_attention(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SCENARIO.replace("{gpus: 64}", "{gpus: 64, node: dgx-a100}"))
    main(["predict", str(file)])
    assert "(by default, without FlashAttention; name yours in job.software)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_predict_names_software_and_switches(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SCENARIO + "  software: {name: nemo, tensor_overlap: false}\n")
    main(["predict", str(file)])
    assert "software NeMo 2025 (tensor_overlap: false)" in capsys.readouterr().out
    main(["predict", str(file), "--json"])
    result = json.loads(capsys.readouterr().out)["result"]
    software = result["software"]
    assert (software["name"], software["title"], software["default"]) == (
        "nemo",
        "NeMo 2025",
        False,
    )
    assert software["switches"]["tensor_overlap"] is False
    assert software["switches"]["gradient_type"] == "bf16"
    assert result["published"] is None
    assert any("tensor_overlap: false" in doubt for doubt in result["validity"]["doubts"])
    main(["predict", str(file), "--why", "software"])
    assert "tensor_overlap = off" in capsys.readouterr().out


def test_check_names_the_line_of_unknown_software(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SCENARIO + "  software: nemmo\n")
    assert main(["check", str(file)]) == 2
    assert "a.yaml:7:3: job.software.name: 'nemmo' is not known; did you mean 'nemo'?" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(("gpus", "data", "published"), [(16_384, 128, 0.41)])
def test_the_built_in_example_is_within_two_points_of_what_was_published(
    gpus: int, data: int, published: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"data: {data} " in example_text()
    main(["predict", "--json"])
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["gpus"] == gpus
    assert result["published"]["mfu"] == pytest.approx(published)
    assert result["mfu"] == pytest.approx(published, abs=0.02)
    main(["predict"])
    assert "published MFU 41.0% (predicted +0." in capsys.readouterr().out


def test_plan_searches_the_software_asked_for(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SCENARIO.replace("gpus: 64", "gpus: 8"))
    main(["plan", str(file), "--software", "nemo,fsdp-2023", "--json"])
    result = json.loads(capsys.readouterr().out)["result"]
    assert [one["software"] for one in result["machines"]] == ["nemo", "fsdp-2023"]
    assert main(["plan", str(file), "--software", "nemmo"]) == 2
    assert "--software: 'nemmo' is not known; did you mean 'nemo'?" in capsys.readouterr().err


def test_published_figures_need_one_number(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(SCENARIO + "published: {source: a paper}\n")
    assert main(["check", str(file)]) == 2
    assert "give 'mfu', 'step_time' or both" in capsys.readouterr().err
    file.write_text(SCENARIO + "published: {step_time: 2s, source: a paper}\n")
    main(["predict", str(file)])
    assert "published step 2s (predicted" in capsys.readouterr().out
