"""What does not count is said, and never counts as a pass."""

from __future__ import annotations

import csv
import json
from importlib import resources
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "collective,gpu,nodes,ranks,scaleout,size_bytes,time_us,source\n"
COLUMNS = {"row_id", "measured", "predicted", "error_pct", "inside", "reason"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "mine.csv"


def rows_of(*gpus: str) -> str:
    return HEADER + "".join(f"all_reduce,{gpu},1,8,,1073741824,4000,lab\n" for gpu in gpus)


def test_a_table_of_unknown_gpus_is_no_pass(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_text(rows_of("QQQ", "H21", "L40S", "T4"))
    assert main(["validate", "collectives", "--data", str(table), "--json", "--rows"]) == 1
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["rows"], found["counted"], found["apart_rows"]) == (4, 0, 4)
    assert not found["bound_ok"]
    assert all(value is None for key, value in found.items() if key.endswith("error_pct"))
    assert found["bias_pct"] is None
    for row, gpu in zip(found["per_row"], ("QQQ", "H21", "L40S", "T4"), strict=True):
        assert row.keys() >= COLUMNS
        assert (row["predicted"], row["error_pct"], row["inside"]) == (None, None, False)
        assert f"unknown GPU '{gpu}'" in row["reason"]


def test_a_table_of_which_nothing_counts_says_so(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_text(rows_of("QQQ"))
    assert main(["validate", "collectives", "--data", str(table), "--rows"]) == 1
    out = capsys.readouterr().out
    assert "unknown GPU 'QQQ'" in out
    assert "1 rows, none of them counted: nothing was checked" in out
    assert "within" not in out


def test_an_unknown_gpu_leaves_the_other_rows_their_score(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 1 GiB over 8 H100 in 4 ms is 2 x 7/8 x 268 = 470 GB/s, which the model meets within 15 %.
    table.write_text(rows_of("H100", "QQQ"))
    assert main(["validate", "collectives", "--data", str(table), "--json", "--rows"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["counted"], found["apart_rows"]) == (1, 1)
    assert found["apart_median_abs_error_pct"] is None
    assert found["per_row"][0]["measured"] == pytest.approx(469.76, rel=1e-4)


def test_an_algorithm_that_is_not_modelled_sets_its_row_apart(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = HEADER.replace("source", "algo")
    rows = [f"all_reduce,H100,1,8,,1073741824,4000,{algo}\n" for algo in ("Ring", "", "Bruck")]
    table.write_text(header + "".join(rows))
    main(["validate", "collectives", "--data", str(table), "--json", "--rows"])
    found = json.loads(capsys.readouterr().out)["result"]["per_row"]
    assert [row["counted"] for row in found] == [True, True, False]
    assert "algorithm 'bruck' is not modelled" in found[2]["reason"]


def test_what_is_not_stated_stays_assumed_and_apart(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_text(rows_of("not stated (a cloud)"))
    assert main(["validate", "collectives", "--data", str(table), "--json", "--rows"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["result"]["per_row"]
    assert row["predicted"] > 0
    assert "GPU is not stated" in row["reason"]


def first_row(suite: str, table: str, **changes: str) -> str:
    """Return the header and the first row of a shipped table, with some cells changed."""
    text = resources.files("netloom.validation").joinpath(suite, "data", table).read_text("utf-8")
    lines = csv.DictReader(text.splitlines())
    out = StringIO()
    writer = csv.DictWriter(out, lines.fieldnames or [])
    writer.writeheader()
    writer.writerow(next(lines) | changes)
    return out.getvalue()


@pytest.mark.parametrize(
    ("suite", "text"),
    [
        ("steps", first_row("steps", "training_steps.csv", gpu="QQQ")),
        ("layers", first_row("layers", "h200_gpt_layer_shard_bf16.csv", seq="16", tp="1")),
    ],
)
def test_without_a_row_that_counts_there_is_no_error_and_no_pass(
    suite: str, text: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No error at all would read as a perfect prediction."""
    table.write_text(text)
    assert main(["validate", suite, "--data", str(table)]) == 1
    assert "0.0 %" not in capsys.readouterr().out
    assert main(["validate", suite, "--data", str(table), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["inside"] == 0
    assert not found["bound_ok"]
    assert all(found[key] is None for key in found if key.endswith("error_pct"))
    assert found["bias_pct"] is None


def test_a_calibration_that_a_suite_does_not_use_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["validate", "steps", "--calibration", "gpu.csv"]) == 2
    assert "--calibration: steps takes none; use it with layers" in capsys.readouterr().err
