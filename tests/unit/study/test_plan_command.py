"""``netloom plan`` from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
cluster: {nodes: 2}
job: {model: llama-3.1-8b, training: {global_batch: 16}}
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(SCENARIO)
    return path


def test_json_has_the_documented_keys(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(written), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert {"configurations", "feasible", "wall_s", "best", "pareto"} <= found.keys()
    assert len(found["best"]) == 10
    assert found["complete"]


def test_the_text_says_what_the_best_share_and_what_tells_them_apart(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(written), "--gpus", "8,16"]) == 0
    text = capsys.readouterr().out
    assert "Alike in all" in text
    assert "fit in memory" in text


def test_a_search_on_disk_gives_the_same_answer(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "search.json"
    answers = []
    for _ in range(2):
        assert main(["plan", str(written), "--resume", str(kept), "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out)["result"] | {"wall_s": 0})
    assert kept.exists()
    assert answers[0] == answers[1]


def test_workers_change_nothing_but_the_time(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = []
    for workers in ("1", "2"):
        assert main(["plan", str(written), "--workers", workers, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out)["result"] | {"wall_s": 0})
    assert answers[0] == answers[1]


def test_a_report_is_written_beside_the_text(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["plan", str(written), "--gpus", "8-32", "--report", str(page)]) == 0
    text = capsys.readouterr().out
    assert "4 machines at their best" in " ".join(text.split())  # 1, 2, 3 and 4 nodes
    assert f"Report: {page}" in "".join(text.splitlines())
    assert "The ten best" in page.read_text()


@pytest.mark.parametrize(
    ("option", "value", "what"),
    [
        ("--gpus", "12", "do not fill nodes"),
        ("--gpus", "many", "is not a number"),
        ("--gpus", "64-16", "is no range"),
        ("--gpus", "8-many", "is not a number"),
        ("--workers", "0", "is not a number of processes"),
        ("--topologies", "ring", "is not one"),
        ("--memory", "70", "memory"),
        ("--budget", "1000USD", "no machine is within the limits"),
        ("--oversubscriptions", "0.5", "oversubscription"),
    ],
)
def test_a_wrong_option_is_named(
    written: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, what: str
) -> None:
    assert main(["plan", str(written), option, value]) == 2
    assert what in capsys.readouterr().err
