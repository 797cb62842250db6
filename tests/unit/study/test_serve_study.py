"""A scenario's service, technology by technology."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.spec.example import example, example_text
from netloom.study.serving.inference import Inference, infer

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = "llama-3.1-70b-serving"


def test_the_example_is_served_on_every_technology_it_compares() -> None:
    scenario = example(EXAMPLE)
    found = infer(scenario)
    assert isinstance(found, Inference)
    assert found.own.name == "infiniband-ndr"
    assert tuple(one.name for one in found.others) == scenario.compare
    assert found.refused == ()
    own = found.own.service
    # Inside its node a decode step sees no technology; the cache that is sent does.
    by_name = {one.name: one.service for one in found.others}
    assert by_name["tcp-400g"].time_per_token_s == own.time_per_token_s
    assert by_name["tcp-400g"].time_to_first_token_s > own.time_to_first_token_s
    assert repr(found).startswith("<Inference llama-3.1-70b on 64 GPUs, infiniband-ndr: ")
    assert len(found.table()) == len(scenario.compare)


def test_a_scenario_without_serving_says_what_to_add() -> None:
    with pytest.raises(SpecError, match="serving: the scenario has no such section"):
        infer(example())


def test_the_command_prints_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["cache_bytes_per_token"] == 327_680
    assert found["tokens_per_s_per_gpu"] == pytest.approx(found["tokens_per_s"] / 64)
    used = found["prefill_instances"] * 4 + found["decode_instances"] * 8
    assert used + found["idle_gpus"] == found["gpus"] == 64
    assert {"time_to_first_token_s", "time_per_token_s", "validity"} <= set(
        found["technologies"][0]
    )


def test_the_command_prints_text_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer"]) == 0
    assert "instances read prompts" in capsys.readouterr().out
    assert main(["infer", "--why", "all"]) == 0
    assert "time to first token" in capsys.readouterr().out


def test_a_wrong_degree_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    text = example_text(EXAMPLE).replace("tensor: 4\n", "tensor: 3\n")
    path.write_text(text, encoding="utf-8")
    line = text[: text.index("tensor: 3")].count("\n") + 1
    for command in ("infer", "check"):
        assert main([command, str(path)]) == 2
        told = capsys.readouterr().err
        assert f"wrong.yaml:{line}:" in told
        assert "serving.prefill.tensor: 3 does not divide the 64 heads" in told


SERVED = """
cluster: {nodes: 8}
job: {model: llama-3.1-70b}
serving: {prompt: 4096, output: 512, batch: 64, decode: {tensor: 8}}
"""


def test_a_model_that_is_not_trained_is_served_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(SERVED)
    page = tmp_path / "page.html"
    assert main(["infer", str(path), "--report", str(page)]) == 0
    assert "tokens/s per GPU" in capsys.readouterr().out
    text = page.read_text()
    for heading in ("Time to first token", "Time per token", "Tokens per second and GPU"):
        assert heading in text
    for technology in ("infiniband-ndr", "tcp-400g"):
        assert f'<th scope="row">{technology}</th>' in text
    assert main(["check", str(path)]) == 0


@pytest.mark.parametrize("command", ["predict", "compare", "plan"])
def test_commands_that_train_ask_for_the_training_where_it_belongs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(SERVED)
    assert main([command, str(path)]) == 2
    error = capsys.readouterr().err
    assert "serve.yaml:3:1: job.training: missing; add it, such as" in error
