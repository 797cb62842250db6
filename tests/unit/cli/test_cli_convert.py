"""``netloom convert``: the scenario it writes is one that the other commands take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netloom.cli.main import main
from netloom.spec.load import load

RECIPES = Path(__file__).parents[2] / "data" / "recipes"
SMALL = str(RECIPES / "small_llama.config.json")
CASES = [
    "llama3_8b.sh",
    "mixtral.args --gpus 64",
    "gpt3_175b_2021.sh --node dgx-a100 --technology infiniband-hdr",
    "nemo_gpt3.yaml",
    "nemo2_llama3_8b.yaml",
    "bridge_llama3_70b.yaml --gpus 64",
    "llama3_405b.toml --gpus 256",
    f"deepspeed_zero3.json --model {SMALL} --sequence 2048",
    "small_llama.config.json --gpus 8 --global-batch 64 --sequence 2048",
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.split()[0])
def test_what_is_written_passes_check_and_is_predicted(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = case.split()
    out = tmp_path / "scenario.yaml"
    assert main(["convert", str(RECIPES / name), "-o", str(out), *options]) == 0
    assert f"Written: {out}" in capsys.readouterr().out
    assert main(["check", str(out)]) == 0
    assert main(["predict", str(out), "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :])["result"]["step_time_s"] > 0


def test_json_names_what_became_of_every_statement(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(RECIPES / "llama3_8b.sh")
    assert main(["convert", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["ok"] is True
    assert found["written"] == []
    lost = {one["name"]: one for one in found["not_taken"]}
    assert lost["--brand-new-switch"]["where"] == f"{file}:67"
    taken = {one["name"]: one.get("key") for one in found["taken"]}
    assert taken["--seq-length"] == "job.training.sequence"
    assert "--lr" in {one["name"] for one in found["without_effect"]}


def test_without_a_file_the_scenario_is_printed_and_the_rest_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(RECIPES / "llama3_8b.sh"), "--set", "TP=4"]) == 0
    printed = capsys.readouterr()
    file = tmp_path / "x.yaml"
    file.write_text(printed.out)
    assert load(file).job.parallel.tensor == 4
    assert "Not taken:" in printed.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["mixtral.args"], "--gpus: the file does not say"),
        (["mixtral.args", "--gpus", "6"], "no multiple of tensor x pipeline x context = 4"),
        (["mixtral.args", "--gpus", "0"], "--gpus: 0 is too few"),
        (["mixtral.args", "--gpus", "64", "--node", "nope"], "--node"),
        (["llama3_8b.sh", "--set", "TP"], "--set: 'TP' sets nothing"),
        (["llama3_8b.sh", "--recompute", "some"], "job.training.recompute"),
        (["llama3_8b.sh", "--software", "nope"], "'nope' is not known"),
        (["none.sh"], "cannot be read"),
    ],
)
def test_what_will_not_do_is_told_in_a_sentence_and_exits_with_2(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(RECIPES / options[0]), *options[1:]]) == 2
    assert said in capsys.readouterr().err


def test_a_model_of_its_own_needs_a_file_to_be_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (RECIPES / "llama3_8b.sh").read_text().replace("--num-layers 32", "--num-layers 31")
    file = tmp_path / "odd.sh"
    file.write_text(text)
    assert main(["convert", str(file)]) == 2
    assert "-o scenario.yaml" in capsys.readouterr().err
    assert main(["convert", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["model"]["num_hidden_layers"] == 31


def test_the_file_that_is_converted_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.sh"
    script.write_text((RECIPES / "llama3_8b.sh").read_text())
    assert main(["convert", str(script), "-o", str(script)]) == 2
    assert "is the file that is converted; name another" in capsys.readouterr().err
    assert script.read_text() == (RECIPES / "llama3_8b.sh").read_text()


def test_control_characters_of_a_script_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.sh"
    text = (RECIPES / "llama3_8b.sh").read_text()
    script.write_text(text.replace("--brand-new-switch", "--\x1b[31mnew\x07"))
    for options in ([], ["-o", str(tmp_path / "x.yaml")]):
        assert main(["convert", str(script), *options]) == 0
        printed = capsys.readouterr()
        assert "[31mnew" in printed.out + printed.err
        assert not {"\x1b", "\x07"} & set(printed.out + printed.err)
