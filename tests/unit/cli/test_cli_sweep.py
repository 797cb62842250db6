from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import nanoarrow as na
import pytest
from nanoarrow.ipc import InputStream

from netloom.cli.main import main
from netloom.spec.sweep.file import sweep_example_text

if TYPE_CHECKING:
    from pathlib import Path

SWEEP = """\
base:
  cluster: {nodes: 4}
  job: {model: gpt-2-1.5b, training: {global_batch: 64}}
question: predict
grid:
  cluster.nodes: [4, 8]
  cluster.fabric.technology: [infiniband-ndr, tcp-400g]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SWEEP)
    return "s.yaml"


def test_a_sweep_is_printed_written_drawn_and_kept(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = ["--out", "s.csv", "--report", "s.html"]
    assert main(["sweep", file, "--workers", "1", *written]) == 0
    out = capsys.readouterr().out
    assert "predict at 4 points" in out
    assert "0 from the store, 4 computed, 0 failed" in out
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert [row["cluster.nodes"] for row in rows] == ["4", "4", "8", "8"]
    page = (tmp_path / "s.html").read_text()
    assert "step_time_s" in page
    assert page.count("<figure") == 3, "a figure for step time, MFU and exposed share"

    assert main(["sweep", file, "--json", "--out", "s.arrow"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["points"], found["from_store"], found["computed"]) == (4, 4, 0)
    data = (tmp_path / "s.arrow").read_bytes()
    table = na.ArrayStream(InputStream.from_readable(data)).read_all().to_pylist()
    assert [row["step_time_s"] for row in table] == [float(row["step_time_s"]) for row in rows]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "netloom-sweep.db",
        "s.arrow",
        "s.csv",
        "s.html",
        "s.yaml",
    ]


def test_a_failed_point_is_reported_and_exits_with_1(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 5 x 8 GPUs do not divide a global batch of 64.
    (tmp_path / file).write_text(SWEEP.replace("[4, 8]", "[4, 5]"))
    assert main(["sweep", file, "--workers", "1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "2 computed, 2 failed" in out
    assert "failed: cluster.nodes = 5, cluster.fabric.technology = infiniband-ndr: job" in out


def test_a_bad_sweep_runs_nothing(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / file).write_text(SWEEP.replace("tcp-400g", "tcp-401g"))
    assert main(["sweep", file]) == 2
    assert "s.yaml:7:47: cluster.fabric.technology: 'tcp-401g'" in capsys.readouterr().err
    assert main(["sweep", file, "--out", "s.parquet"]) == 2
    assert "ends in neither .csv nor .arrow" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_ctrl_c_says_that_nothing_is_lost(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netloom.app.sweep.run.drive", interrupted)
    assert main(["sweep", file]) == 130
    err = capsys.readouterr().err
    assert "netloom-sweep.db has what is done; the same command goes on from there" in err


def test_example_prints_a_sweep_to_start_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example", "sweep"]) == 0
    assert capsys.readouterr().out == sweep_example_text()
