"""What netloom 0.1 wrote is read; what a later one wrote is refused with the remedy.

The files under tests/data/recorded/0.1 are what version 0.1 wrote: its examples, the store of a
sweep, and of one InfiniBand lab with a pulled cable the record, the heal log and the store of a
watch.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from netloom.app.heal.journal import FileJournal
from netloom.app.lab.store import LabFolder
from netloom.app.locate import StoredFindings, locate
from netloom.cli.main import main
from netloom.errors import NetloomError
from netloom.ops.heal.log import in_force, unfinished
from netloom.ops.observe.store import ObservationStore
from netloom.spec.load import load

RECORDED = Path(__file__).parents[2] / "data" / "recorded" / "0.1"
SCENARIOS = sorted((RECORDED / "scenarios").glob("*.yaml"))


class AtThatTime:
    """The clock of the day of the recording."""

    def now_s(self) -> float:
        return 1794830300.0

    def ticks_s(self) -> float:
        return 0.0

    def wait(self, wait_s: float) -> bool:
        return wait_s > 0


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress((RECORDED / f"{name}.gz").read_bytes()))
    return path


@pytest.fixture
def lab(tmp_path: Path) -> LabFolder:
    place = LabFolder.of("old", tmp_path)
    place.path.mkdir()
    for name in ("lab.json", "plant.json", "heal.jsonl"):
        shutil.copy(RECORDED / name, place.path / name)
    return place


def tables_of_version(path: Path, version: int) -> Path:
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA user_version = {version}")
    file.close()
    return path


def test_there_are_scenarios_to_read() -> None:
    assert len(SCENARIOS) == 9


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: str(path.stem))
def test_a_scenario_is_read(path: Path) -> None:
    text = path.read_text("utf-8")
    assert load(path).cluster.node in text


def test_the_store_of_a_sweep_is_used_and_keeps_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = unpacked("sweep.db", tmp_path)
    sweep = ["sweep", str(RECORDED / "sweep.yaml"), "--store", str(store), "--workers", "1"]
    assert main(sweep) == 0
    # An answer is of one release: the two of 0.1 stay, two of this one come.
    assert "0 from the store, 2 computed" in capsys.readouterr().out
    with sqlite3.connect(store) as file:
        assert file.execute("SELECT count(*) FROM results").fetchone() == (4,)
    file.close()


def test_the_store_of_a_sweep_by_a_later_netloom_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tables_of_version(unpacked("sweep.db", tmp_path), 2)
    sweep = ["sweep", str(RECORDED / "sweep.yaml"), "--store", str(store), "--workers", "1"]
    assert main(sweep) == 2
    assert "is no store of this netloom; name another file" in capsys.readouterr().err


def test_the_store_of_a_watch_gives_its_findings(tmp_path: Path) -> None:
    found = locate(None, store=unpacked("watch.db", tmp_path), clock=AtThatTime())
    assert isinstance(found, StoredFindings)
    assert [(str(case.label), case.kind) for case in found.cases] == [
        ("cable:60 (leaf:0 - spine:0)", "missing cable")
    ]


def test_the_store_of_a_watch_is_written_on(tmp_path: Path) -> None:
    with ObservationStore(unpacked("watch.db", tmp_path)) as store:
        values = {(part, metric): value for _, part, metric, value in store.latest()}
        assert store.num_rows()["poll"] > 0
    assert values["job:steps/rank:0", "step_s"] == 2.5


def test_the_store_of_a_later_watch_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tables_of_version(unpacked("watch.db", tmp_path), 4)
    says = "its tables are of version 4, and this netloom knows 3; use the netloom that wrote it"
    ethernet = str(RECORDED / "scenarios" / "tenants.yaml")
    assert main(["locate", ethernet, "--store", str(store)]) == 2
    assert says in capsys.readouterr().err
    assert main(["watch", ethernet, "--adapters", "--once", "--store", str(store)]) == 2
    assert says in capsys.readouterr().err


def test_a_watch_before_findings_were_kept_has_none(tmp_path: Path) -> None:
    store = unpacked("watch.db", tmp_path)
    with sqlite3.connect(store) as file:
        file.execute("DROP TABLE finding")
    file.close()
    found = locate(None, store=tables_of_version(store, 1), clock=AtThatTime())
    assert found.to_json()["findings"] == []


def test_a_heal_log_is_read(lab: LabFolder) -> None:
    entries = FileJournal(path=lab.path / "heal.jsonl").entries()
    assert [(entry.act, entry.verb) for entry in in_force(entries)] == [
        (1, "reroute"),
        (2, "ticket"),
    ]
    assert {str(entry.part) for entry in entries} == {"cable:60"}
    assert unfinished(entries) == ()


def test_a_heal_log_of_a_later_netloom_is_refused_with_the_remedy(
    lab: LabFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    log = lab.path / "heal.jsonl"
    lines = log.read_text("utf-8").splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "version": 2})
    log.write_text("\n".join(lines), encoding="utf-8")
    heal = ["heal", str(RECORDED / "ib.yaml"), "--lab", "old", "--dir", str(lab.path.parent)]
    assert main([*heal, "--undo", "1"]) == 2
    said = capsys.readouterr().err
    assert "heal.jsonl:4: version 2 of the log" in said
    assert "move the log away once nothing in it is in force" in said


def test_what_a_crash_left_of_a_line_is_passed_over(lab: LabFolder) -> None:
    log = lab.path / "heal.jsonl"
    whole = FileJournal(path=log).entries()
    log.write_text(log.read_text("utf-8") + '{"version": 1, "at_s": 17', encoding="utf-8")
    assert FileJournal(path=log).entries() == whole


def test_the_record_of_a_lab_is_read_and_of_a_later_one_refused(lab: LabFolder) -> None:
    record = lab.read()
    assert (record.kind, len(record.programs), len(record.faults)) == ("infiniband", 2, 1)
    assert len(lab.read_plant().cables) == 32
    path = lab.path / "lab.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "version": 2}))
    with pytest.raises(NetloomError, match=r"another version of netloom.*bring it up again"):
        lab.read()
