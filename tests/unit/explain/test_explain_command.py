"""``netloom explain`` as users type it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from recorded_runs import LOG, PLAIN, TRACES, nsight_store

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def result(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["explain", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return found


def test_a_trace_gives_lines_causes_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, page = PLAIN.write(tmp_path), tmp_path / "page.html"
    trace = TRACES / "data_wait.rank0.json.gz"
    found = result(capsys, str(scenario), "--trace", str(trace), "--report", str(page))
    assert found["causes"][0]["name"] == "slow-data"
    spent = [one["measured_s"] for one in found["lines"]]
    assert sum(spent) == pytest.approx(found["measured_s"])
    assert "waiting for data" in page.read_text()


def test_a_time_alone_gives_changes_that_would_make_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole layers computed twice take 130 ms for 103."""
    found = result(capsys, str(PLAIN.write(tmp_path)), "--measured", "130ms")
    changes = [one["change"] for one in found["variants"]]
    assert "recompute: full" in changes
    assert all(abs(one["off"]) < 0.15 for one in found["variants"])


def test_a_step_as_predicted_needs_no_explanation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = str(PLAIN.write(tmp_path))
    predicted_s = result(capsys, scenario, "--measured", "1s")["predicted_s"]
    assert main(["explain", scenario, "--measured", f"{predicted_s * 0.9995:.6f}s"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "within what was expected" in said
    assert "Nothing needs explaining" in said


def test_a_log_lines_up_its_timers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Passes: 2.6 + 5.2 s less 0.04 s of data inside them; 9.1 s less all timers is left."""
    log = tmp_path / "run.log"
    log.write_text(LOG)
    found = result(capsys, str(PLAIN.write(tmp_path)), "--log", str(log))
    lines = {one["phase"]: one["measured_s"] for one in found["lines"]}
    assert lines["passes, with the communication inside them"] == pytest.approx(7.76)
    assert lines["not in a timer"] == pytest.approx(9.1 - 7.76 - 0.12 - 0.051 - 0.04)


def test_an_export_of_nsight_systems_is_known_by_its_first_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each 10 ms step: 5 ms of products, 3 ms of all-reduce beyond them, 2 ms idle."""
    nsight_store(tmp_path / "run.sqlite").close()
    found = result(capsys, str(PLAIN.write(tmp_path)), "--trace", str(tmp_path / "run.sqlite"))
    lines = {one["phase"]: one["measured_s"] for one in found["lines"]}
    assert lines["matrix products"] == pytest.approx(5e-3)
    assert lines["exposed communication, data"] == pytest.approx(3e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one of --measured, --trace and --log"),
        (["--measured", "9"], "has no unit"),
        (["--measured", "0s"], "no time of a step, above zero and up to 30 days"),
        (["--measured", "9s", "--log", "x.log"], "x.log"),
        (["--trace", "absent.json"], "cannot be read"),
    ],
)
def test_bad_input_is_refused_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["explain", str(PLAIN.write(tmp_path)), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_gzip_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes((TRACES / "plain.rank0.json.gz").read_bytes()[:-9000])
    assert main(["explain", str(PLAIN.write(tmp_path)), "--trace", str(path)]) == 2
    assert "a.json.gz" in capsys.readouterr().err
