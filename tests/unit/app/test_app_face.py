"""What a web page calls: functions that print nothing and return results with to_json()."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from netloom.app import audit, deploy, lab, locate
from netloom.app.designs import design_of
from netloom.app.watch import WatchSources
from netloom.app.watch.sources import open_sources
from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.spec.load import load

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = ("audit", "deploy", "heal", "lab", "locate", "watch")
ACTS = {
    "audit": ("audit",),
    "deploy": ("render", "check", "plan", "apply"),
    "heal": ("heal", "undo"),
    "lab": ("up", "down", "names", "status", "fault", "clear"),
    "locate": ("locate",),
    "watch": ("watch",),
}
SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "ib.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_exports_what_it_lists(name: str) -> None:
    package = import_module(f"netloom.app.{name}")
    for exported in package.__all__:
        assert getattr(package, exported) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize(("name", "act"), [(name, act) for name in ACTS for act in ACTS[name]])
def test_a_function_is_shown_by_an_example(name: str, act: str) -> None:
    function = getattr(import_module(f"netloom.app.{name}"), act)
    assert ">>> " in (inspect.getdoc(function) or "")


def test_an_audit_is_what_the_command_prints(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cables = tmp_path / "cables.csv"
    cables.write_text("a_device,a_port,b_device,b_port\nnic:0,1,leaf:0,1\n", encoding="utf-8")
    found = audit.audit(load(scenario), source=cables)
    assert capsys.readouterr().out == ""
    assert found.num_right == 1
    assert main(["audit", str(scenario), "--from", str(cables), "--json"]) == 1
    assert result(capsys) == found.to_json()


def test_a_design_serves_several_looks(scenario: Path, tmp_path: Path) -> None:
    designed = design_of(load(scenario))
    assert design_of(designed) is designed
    seen = tmp_path / "seen.json"
    seen.write_text(json.dumps({"flows": []}), encoding="utf-8")
    report = locate.locate(designed, observations=seen)
    nothing: dict[str, list[object]] = {
        "findings": [],
        "disputes": [],
        "doubts": [],
        "congestion": [],
    }
    assert report.to_json() == nothing


def test_locating_needs_one_thing_to_look_at(scenario: Path) -> None:
    with pytest.raises(SpecError, match="say what to look at"):
        locate.locate(load(scenario))
    with pytest.raises(SpecError, match="no scenario"):
        locate.locate(None, lab="lab-1")


def test_rendering_writes_only_where_it_is_told(scenario: Path, tmp_path: Path) -> None:
    wanted = deploy.deployment_of(load(scenario))
    dry = deploy.render(wanted)
    assert (dry.folder, dry.removed) == ("", ())
    wet = deploy.render(wanted, out=tmp_path / "out")
    assert dict(wet.files) == dict(dry.files)
    assert (tmp_path / "out" / "manifest.json").read_text("utf-8") == dry.files["manifest.json"]
    assert deploy.plan(wanted, running=tmp_path / "out").to_json() == {"changes": []}
    (tmp_path / "out" / "fabric.dot").write_text("graph {}", encoding="utf-8")
    (change,) = deploy.plan(wanted, running=tmp_path / "out").changes
    assert change.device == "fabric.dot"


def test_a_folder_with_nothing_to_compare_is_refused_not_equal(
    scenario: Path, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="has no file of a kind"):
        deploy.plan(load(scenario), running=tmp_path)


def test_there_are_no_labs_in_an_empty_folder(tmp_path: Path) -> None:
    assert lab.names(folder=tmp_path).to_json() == {"labs": []}


def test_a_job_that_is_silent_keeps_no_finding_open(scenario: Path, tmp_path: Path) -> None:
    # Only what tells of cables and devices is vital: the log of a manager and the files of jobs
    # are not.
    sources = WatchSources(
        scrape=("http://node1:9100/metrics",),
        steps=(tmp_path / "steps.jsonl",),
        nccl_log=(tmp_path / "nccl.log",),
        nccl_tests=(tmp_path / "tests.txt",),
        flight_recorder=(tmp_path,),
        flows=(tmp_path / "flows.json",),
        sm_log=tmp_path / "opensm.log",
    )
    with open_sources(design_of(load(scenario)), sources, fresh_s=30.0) as opened:
        assert len(opened.collectors) == 9
        assert opened.vital == {
            "subnet",
            "counters",
            "scrape node1:9100/metrics",
            f"flows {tmp_path / 'flows.json'}",
        }


def result(capsys: pytest.CaptureFixture[str]) -> object:
    """Return what a command printed, from inside its envelope where it has one."""
    said = json.loads(capsys.readouterr().out)
    return said.get("result", said)
