"""Calibration: what is measured, resumed, and refused."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from netloom.app.calibrate.gpu_operators import measure
from netloom.cli.main import main
from netloom.compute.tables import read_table
from netloom.errors import OutputError, SpecError
from netloom.study.calibrate.gpu import plan

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class FakeGpu:
    """Times everything as 1 ms, fails on what is asked, and counts."""

    source: str = "a, fake"
    has_fp8: bool = False
    fails: str = ""
    asked: list[str] = field(default_factory=list)

    def time_s(self, operator: str, precision: str, shape: tuple[int, ...]) -> float | None:
        self.asked.append(f"{operator} {precision} {shape}")
        return None if operator == self.fails else 1e-3


def test_no_operator_is_planned_twice() -> None:
    trials = plan(quick=False, fp8=True)
    assert len({trial.key for trial in trials}) == len(trials)
    assert {trial.key for trial in plan(quick=True, fp8=True)} < {trial.key for trial in trials}


def test_every_kind_comes_early() -> None:
    early = {trial.operator.partition("_")[0] for trial in plan(quick=False, fp8=True)[:60]}
    assert {"gemm", "attention", "layernorm", "residual", "gelu"} <= early


def test_what_was_measured_can_be_read_back(tmp_path: Path) -> None:
    gpu, out = FakeGpu(), tmp_path / "own.csv"
    found = measure(gpu, out, quick=True, limit_s=60)
    done, left = found.measured, found.left
    rows = read_table(out)
    assert (done, left) == (len(rows), 0)
    assert {row.time_s for row in rows} == {1e-3}
    assert {row.source for row in rows} == {"a  fake"}


def test_a_second_run_goes_on_where_the_first_stopped(tmp_path: Path) -> None:
    out = tmp_path / "own.csv"
    measure(FakeGpu(), out, quick=True, limit_s=60)
    whole = len(plan(quick=False, fp8=False))
    again = FakeGpu()
    found = measure(again, out, quick=False, limit_s=60)
    done, left = found.measured, found.left
    assert done == len(again.asked) == whole - len(plan(quick=True, fp8=False))
    assert left == 0
    assert len(read_table(out)) == whole


def test_no_time_left_measures_nothing_and_says_what_is_left(tmp_path: Path) -> None:
    gpu = FakeGpu()
    found = measure(gpu, tmp_path / "own.csv", quick=True, limit_s=-1)
    done, left = found.measured, found.left
    assert (done, left, gpu.asked) == (0, len(plan(quick=True, fp8=False)), [])


def test_an_operator_that_cannot_run_is_left_out(tmp_path: Path) -> None:
    out = tmp_path / "own.csv"
    measure(FakeGpu(fails="dropout"), out, quick=False, limit_s=60)
    found = {row.operator for row in read_table(out)}
    assert "dropout" not in found
    assert "gelu" in found


def test_a_file_of_something_else_is_not_written_to(tmp_path: Path) -> None:
    out = tmp_path / "letter.txt"
    out.write_text("Dear reader,\n")
    with pytest.raises(SpecError, match="no column 'operator'"):
        measure(FakeGpu(), out, quick=True, limit_s=60)
    assert out.read_text() == "Dear reader,\n"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be used"):
        measure(FakeGpu(), tmp_path / "none" / "own.csv", quick=True, limit_s=60)


def test_without_pytorch_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    assert main(["calibrate", "gpu"]) == 2
    assert "PyTorch is not installed here" in capsys.readouterr().err


def test_without_a_gpu_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", blind)
    assert main(["calibrate", "gpu"]) == 2
    assert "sees no GPU" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cpu"], 'Unknown command "cpu"'),
        (["gpu", "--minutes", "0"], "--minutes: 0.0 is not a time"),
    ],
)
def test_a_wrong_argument_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *arguments]) == 2
    assert message in capsys.readouterr().err
