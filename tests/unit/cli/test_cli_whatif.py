"""``netloom whatif``, ``share`` and ``place`` from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

JOB = "{model: llama-2-7b, training: {global_batch: 128}, parallel: {tensor: 8}}"
CLUSTER = (
    "cluster: {nodes: 64, fabric: {technology: rocev2-400g, "
    "topology: {kind: rail-fat-tree, hosts_per_leaf: 32}}}\n"
)
SHARED = f"{CLUSTER}jobs: [{{name: <b>, nodes: 8, job: {JOB}}}, {{nodes: 8, job: {JOB}}}]\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "one.yaml").write_text(f"name: <b>bold</b>\n{CLUSTER}job: {JOB}\n")
    (tmp_path / "jobs.yaml").write_text(SHARED)
    return tmp_path


def out(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out)["result"]
    assert isinstance(found, dict)
    return found


def test_a_failure_is_told_as_text_json_page_and_why(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["whatif", str(files / "one.yaml"), "--fail", "spine:0", "--slow", "nic:1=2"]
    page = files / "w.html"
    assert main([*command, "--report", str(page), "--json"]) == 0
    found = out(capsys)
    assert found["changes"] == [
        {"act": "fail", "part": "spine:0", "factor": 1.0},
        {"act": "slow", "part": "nic:1", "factor": 2.0},
    ]
    assert "<title>" in page.read_text()
    assert main(command) == 0
    assert "of the speed is lost" in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--why", "all"]) == 0
    assert "step time after" in capsys.readouterr().out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_ranking_is_the_same_with_any_number_of_workers(
    workers: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = files / "r.html"
    command = ["whatif", str(files / "one.yaml"), "--rank", "spine", "--workers", workers]
    assert main([*command, "--seeds", "2", "--json", "--report", str(page)]) == 0
    rows = out(capsys)["rows"]
    assert isinstance(rows, list)
    assert sum(row["alike"] for row in rows) == 4  # 16 leaves x 32 uplinks over 128 ports
    assert page.exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "name what happens"),
        (["--fail", "leaf:0", "--rank", "leaf"], "one of the two"),
        (["--fail", "leaf:0", "--factor", "2"], "--factor: it belongs to --rank"),
        (["--rank", "leaf", "--why", "all"], "--why: it explains one case"),
        (["--fail", "leaf:0", "--seeds", "0"], "--seeds: 0 is not a number of draws"),
        (["--rank", "leaf", "--workers", "0"], "--workers: 0"),
        (["--rank", "leef"], "did you mean 'leaf'"),
        (["--fail", "lief:0"], "did you mean 'leaf:'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    options: list[str], says: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", str(files / "one.yaml"), *options]) == 2
    assert says in capsys.readouterr().err


def test_jobs_are_told_as_text_json_and_page(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = files / "s.html"
    command = ["share", str(files / "jobs.yaml")]
    assert main([*command, "--json", "--report", str(page)]) == 0
    found = out(capsys)["jobs"]
    assert isinstance(found, list)
    assert [job["job"] for job in found] == ["<b>", "job 2"]
    assert "<td><b></td>" not in page.read_text()
    assert main(command) == 0
    assert "slowdown" in capsys.readouterr().out


def test_a_placement_is_searched(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["place", str(files / "one.yaml"), "--nodes", "4", "--free", "0-3,8-11"]
    assert main([*command, "--json"]) == 0
    assert out(capsys)["proven"] is True
    assert main(command) == 0
    assert "no placement is better" in capsys.readouterr().out


def test_luck_is_told_with_its_interval(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["predict", str(files / "one.yaml"), "--engine", "flow", "--seeds", "3"]
    assert main([*command, "--json"]) == 0
    luck = out(capsys)["luck"]
    assert isinstance(luck, dict)
    assert luck["draws"] == 3
    assert main(command) == 0
    assert "95 % sure of the mean" in capsys.readouterr().out
    compared = ["compare", *command[1:], "--technologies", "rocev2-400g,infiniband-ndr", "--json"]
    assert main(compared) == 0
    found = out(capsys)["luck"]
    assert isinstance(found, list)
    assert [one["technology"] for one in found] == ["rocev2-400g", "infiniband-ndr"]
