"""``netloom trace``: what is written is read again."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """\
cluster: {nodes: 2}
job:
  model: llama-3.1-8b
  training: {sequence: 4096, global_batch: 16}
  parallel: {tensor: 4, pipeline: 2}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


def test_a_step_is_written_and_read_back(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["trace", "write", str(scenario), "--out", str(out)]) == 0
    assert "16 ranks" in capsys.readouterr().out
    names = {path.name for path in out.iterdir()}
    assert names == {"comm_group.json"} | {f"step.{rank}.et" for rank in range(16)}
    first = out / "step.0.et"
    first.write_bytes(gzip.compress(first.read_bytes()))  # gzip is told by its first bytes
    assert main(["trace", "read", str(out / "step"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["ranks"], found["ranks_read"], found["notes"]) == (16, 16, [])
    assert found["technology"] == "infiniband-ndr"
    # 16 ranks over 4 x 2 leave data 2, so 8 micro-batches of a rank: one hop each way.
    hops = [row for row in found["collectives"] if row["kind"] == "send_recv"]
    assert [(row["count"], row["calls"]) for row in hops] == [(8, 8 * 16)]


def test_another_technology_takes_another_time(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["trace", "write", str(scenario), "--out", str(out), "--ranks", "1"]) == 0
    totals = []
    for technology in ("infiniband-ndr", "tcp-100g"):
        capsys.readouterr()
        asked = ["trace", "read", str(out / "step"), "--technology", technology, "--json"]
        assert main(asked) == 0
        found = json.loads(capsys.readouterr().out)["result"]
        assert found["technology"] == technology
        totals.append(sum(row["total_s"] for row in found["collectives"]))
    assert totals[0] < totals[1]
    assert main(["trace", "read", str(out / "step")]) == 0
    assert "1 traces of 16 ranks" in capsys.readouterr().out


def test_a_folder_with_traces_of_more_ranks_is_left_alone(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "step.7.et").write_bytes(b"")
    asked = ["trace", "write", str(scenario), "--out", str(tmp_path), "--ranks", "2"]
    assert main(asked) == 2
    assert "holds traces of rank 7 already; name an empty folder" in capsys.readouterr().err
    assert not (tmp_path / "step.0.et").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no file t.<rank>.et there"),
        ({"t.01.et": b"", "t.x.et": b""}, "no file t.<rank>.et there"),
        ({"t.0.et": b""}, "t.0.et: byte 0: the file is empty"),
        ({"t.0.et": b"\x01"}, "t.0.et: byte 1: cut off"),
        ({"t.0.et": b"\x00", "comm_group.json": b"\xff"}, "comm_group.json: cannot be read"),
        ({"t.0.et": b"\x00", "comm_group.json": b"3"}, "comm_group.json: no groups by name"),
        ({"t.999999999.et": b"\x00"}, "netloom goes to"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(
    files: dict[str, bytes], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert main(["trace", "read", str(tmp_path / "t")]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_in_place_of_a_trace_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.0.et").mkdir()
    assert main(["trace", "read", str(tmp_path / "t")]) == 2
    assert "t.0.et: cannot be read" in capsys.readouterr().err
    assert main(["trace", "read", str(tmp_path / "missing" / "t")]) == 2
    assert main(["trace", "write", "--ranks", "1", "--out", __file__]) == 2


def test_a_trace_without_nodes_is_an_empty_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.0.et").write_bytes(b"\x00")  # metadata without a version, and no node
    assert main(["trace", "read", str(tmp_path / "t"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["collectives"] == []


@pytest.mark.parametrize("option", ["--technology", "--node"])
def test_an_unknown_part_is_told_with_its_option(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.0.et").write_bytes(b"\x00")
    assert main(["trace", "read", str(tmp_path / "t"), option, "nope"]) == 2
    assert capsys.readouterr().err.startswith(f"netloom: {option}: ")
