from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.app import doctor as examined
from netloom.cli.exits import Exit
from netloom.cli.main import main
from netloom.commands import COMMANDS
from netloom.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

GPT = """
cluster: {gpus: 64, node: dgx-a100, fabric: {technology: infiniband-hdr}}
job:
  model: gpt-3-175b
  training: {sequence: 2048, global_batch: 64, precision: bf16, recompute: full}
  parallel: {tensor: 8, pipeline: 8}
"""


@pytest.fixture
def scenarios(tmp_path: Path) -> tuple[str, str]:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text(GPT)
    other.write_text(GPT.replace("global_batch: 64", "global_batch: 128"))
    return str(one), str(other)


def test_two_scenarios_differ_by_a_key_and_in_their_steps(
    scenarios: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *scenarios, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    (changed,) = found["differences"]
    assert changed["field"] == "job.training.global_batch"
    assert (changed["a"], changed["b"], changed["change"]) == (64, 128, 1.0)
    effects = {one["field"]: one for one in found["effects"]}
    steps = [nl.predict(nl.load(path)).step for path in scenarios]
    step = effects["step_time_s"]
    assert [step["a"], step["b"]] == [one.duration_s for one in steps]
    assert step["change"] == pytest.approx(steps[1].duration_s / steps[0].duration_s - 1)
    # Twice the batch takes less than twice as long: the bubble of the pipeline stays.
    assert 0.5 < step["change"] < 1


def test_a_limit_on_what_a_change_does_to_the_step(scenarios: tuple[str, str]) -> None:
    slower = "effects[step_time_s].change>0.05"
    assert main(["diff", *scenarios, "--fail-if", slower]) == Exit.VERDICT
    assert main(["diff", *reversed(scenarios), "--fail-if", slower]) == Exit.OK


def test_a_scenario_that_cannot_run_is_told_with_its_reason(
    scenarios: tuple[str, str], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(GPT.replace("pipeline: 8", "pipeline: 7"))
    found = nl.diff(scenarios[0], bad)
    assert list(found.refused) == ["b"]
    assert [one.b for one in found.effects] == [None] * 5


def test_two_results_differ_in_every_number_that_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for gpus in ("1024", "2048"):
        assert main(["size", "--gpus", gpus, "--json"]) == 0
        path = tmp_path / f"{gpus}.json"
        path.write_text(capsys.readouterr().out)
        paths.append(path)
    found = {one.field: one for one in nl.diff(paths[0], paths[1]).differences}
    assert (found["gpus"].a, found["gpus"].b, found["gpus"].change) == (1024, 2048, 1.0)
    assert "technology" not in found
    assert nl.diff(paths[0], paths[0]).differences == ()


def test_a_scenario_and_a_result_are_not_compared(
    scenarios: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "--json"]) == 0
    result = tmp_path / "result.json"
    result.write_text(capsys.readouterr().out)
    assert main(["diff", scenarios[0], str(result)]) == Exit.USER
    assert "one is a scenario, the other a result" in capsys.readouterr().err


def test_doctor_says_what_to_install_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> str:
        if name == "opensm":
            raise LabError(name)
        return f"/usr/sbin/{name}"

    monkeypatch.setattr(examined, "find_program", find)
    monkeypatch.setattr(examined, "find_spec", lambda _name: None)
    found = nl.doctor()
    assert found.ok  # everything that needs only netloom can run
    absent = {one.name: one.remedy for one in found.installed if not one.is_there}
    assert absent["opensm"] == "apt-get install opensm"
    assert "PyTorch" in absent["GPU"]
    can = {one.command: one.missing for one in found.abilities}
    assert can["lab, InfiniBand"] == ("opensm",)
    assert can["calibrate gpu"] == ("GPU",)
    assert can["watch, audit of this machine's InfiniBand"] == ()


def test_doctor_exits_with_1_where_netloom_itself_is_not_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(examined, "REQUIRED", ("numpy", "no-such-package"))
    assert main(["doctor"]) == Exit.VERDICT
    assert "no   no-such-package      pip install no-such-package" in capsys.readouterr().out


def test_completion_is_a_script_that_the_shell_reads(tmp_path: Path) -> None:
    script = tmp_path / "netloom.bash"
    assert main(["--install-completion", "--shell", "bash", "--out", str(script)]) == 0
    words = script.read_text()
    assert all(command.name in words for command in COMMANDS)
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0  # noqa: S603, S607
