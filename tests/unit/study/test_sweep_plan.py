from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from counting import QUESTIONS as COUNTING
from counting import SCENARIO, sweep_of

import netloom as nl
from netloom.errors import CatalogError, SpecError
from netloom.study.sweep import plan as sweep_plan
from netloom.study.sweep import task as sweep_task
from netloom.study.sweep.plan import plan_sweep
from netloom.study.sweep.questions import QUESTIONS
from netloom.study.sweep.release import release
from netloom.study.sweep.task import answer, canonical, do

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.study.sweep.plan import SweepPlan

GRID = {"cluster.nodes": [4, 8]}


def planned(question: str = "predict", **changes: Any) -> SweepPlan:
    asked = {"base": SCENARIO, "question": question, "grid": GRID} | changes
    return plan_sweep(asked, questions=QUESTIONS)


def keys(plan: SweepPlan) -> list[str]:
    return [point.key for point in plan.points]


def test_a_key_is_the_hash_of_everything_asked() -> None:
    point = planned().points[0]
    assert point.key == hashlib.sha256(point.asked.encode()).hexdigest()
    asked = json.loads(point.asked)
    assert sorted(asked) == ["files", "netloom", "options", "question", "scenario", "seed"]
    assert asked["netloom"] == release()
    assert release().startswith(f"{nl.__version__} ")
    assert asked["scenario"]["cluster"]["nodes"] == 4
    assert asked["scenario"]["job"]["reliability"]["restart_s"] == 300.0, "defaults are filled in"


def test_equal_scenarios_have_one_key_however_they_are_written() -> None:
    base = {"job": {**SCENARIO["job"], "parallel": {"tensor": 1}}, "cluster": {"nodes": 99}}
    assert keys(planned()) == keys(planned(base=base))
    assert keys(planned()) == keys(
        planned(grid=None, points=[{"cluster.nodes": n} for n in (4, 8)])
    )


def test_question_scenario_seed_options_and_netloom_are_in_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = keys(planned()) + keys(planned("size"))
    seeds = plan_sweep(sweep_of(tmp_path, num_seeds=2), questions=COUNTING)
    naps = plan_sweep(sweep_of(tmp_path, num_seeds=2, nap_ms=1), questions=COUNTING)
    found += keys(seeds) + keys(naps)
    monkeypatch.setattr(sweep_plan, "release", lambda: "another")
    found += keys(planned())
    assert len(set(found)) == len(found) == 10


def test_what_the_files_of_a_scenario_hold_is_in_the_key(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    table = tmp_path / "table.csv"
    table.write_text("x\n")
    text = '[gpus.H100-SXM-80GB]\ncalibration = "table.csv"\n'
    own.write_text(text)
    base = {**SCENARIO, "catalog": str(own)}
    before = planned(base=base)
    assert [path for path, _ in before.points[0].task.files] == [str(own), str(table)]
    own.write_text("# a comment\n" + text)
    after = planned(base=base)
    table.write_text("y\n")
    assert not {*keys(before)} & {*keys(after)}
    assert not {*keys(after)} & {*keys(planned(base=base))}


def test_the_answer_of_a_point_is_that_of_the_command() -> None:
    point = planned().points[1]
    scenario = nl.load({**SCENARIO, "cluster": {"nodes": 8}})
    expected = nl.predict(scenario).to_json()
    assert json.loads(answer(point.task)) == json.loads(json.dumps(expected))
    sized = planned("size").points[1]
    assert json.loads(answer(sized.task))["gpus"] == 64
    compared = planned("compare", grid={"compare": [["infiniband-ndr"]]}).points[0]
    assert json.loads(answer(compared.task))["technologies"][0]["technology"] == "infiniband-ndr"
    serving = {"prompt": 512, "output": 64, "batch": 8}
    served = planned("infer", base={**SCENARIO, "serving": serving}).points[0]
    assert json.loads(answer(served.task))["tokens_per_s"] > 0


def test_every_question_shows_numbers_that_its_answers_have() -> None:
    asks = {
        "serving": {"prompt": 512, "output": 64, "batch": 8},
        "traffic": [{"kind": "permutation", "size": "64KB"}],
    }
    for name, question in QUESTIONS.items():
        plan = planned(name, base={**SCENARIO, **asks}, grid={"cluster.nodes": [8]})
        for row in question.rows(json.loads(answer(plan.points[0].task))):
            assert set(question.shown) <= set(row), name
            assert not question.label or question.label in row


def test_a_simulated_point_is_answered_equally_twice_and_differently_by_seed() -> None:
    traffic = [{"kind": "permutation", "size": "1MB"}]
    base = {"cluster": {"nodes": 8}, "traffic": traffic}
    grid = {"cluster.fabric.technology": ["rocev2-400g"], "seed": [0, 1]}
    one, two = planned("simulate", base=base, grid=grid).points
    assert answer(one.task) == answer(one.task)
    assert json.loads(answer(one.task))["fct_s"] != json.loads(answer(two.task))["fct_s"]


def test_a_process_with_another_netloom_does_not_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    task = planned().points[0].task
    monkeypatch.setattr(sweep_task, "release", lambda: "0.0 other")
    assert "netloom 0.0 other runs here" in do(task).error


def test_a_file_that_changed_meanwhile_is_not_computed_with(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("")
    task = planned(base={**SCENARIO, "catalog": str(own)}).points[0].task
    own.write_text("# changed\n")
    assert "own.toml: is not here, or not the same as when the sweep began" in do(task).error
    own.unlink()
    assert "own.toml: is not here" in do(task).error


def test_a_bug_in_one_point_is_a_value() -> None:
    def broken(_: object) -> dict[str, Any]:
        raise ZeroDivisionError

    task = planned().points[0].task
    done = do(sweep_task.Task(key="k", ask=broken, asked=task.asked, files=(), release=release()))
    assert done.error == "this is a bug in netloom (ZeroDivisionError); please report it"


def test_json_has_one_form_and_no_infinities() -> None:
    assert canonical({"b": (1, 2.5), "a": float("inf"), "c": {1: None}}) == (
        '{"a":null,"b":[1,2.5],"c":{"1":null}}'
    )


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"question": "predikt"}, SpecError, "question: 'predikt' is not known here; did you mean"),
        (
            {"grid": {"seed": [1, 2]}},
            SpecError,
            "seed: 'predict' has no randomness, every seed would give the same answer",
        ),
        (
            {"grid": {"cluster.fabric.technology": ["infiniband-ndr", "infinyband"]}},
            CatalogError,
            "cluster.fabric.technology: 'infinyband': no such technology; did you mean",
        ),
        ({"grid": {"cluster.node": ["dgx"]}}, CatalogError, "cluster.node: 'dgx': no such node"),
        ({"grid": {"compare": [["nope"]]}}, CatalogError, "compare: 'nope': no such technology"),
        ({"grid": {"job.model": ["nope"]}}, CatalogError, "job.model: 'nope': no such model"),
        ({"grid": {"job.model": ["x.json"]}}, SpecError, "x.json: cannot be read"),
        ({"grid": {"cluster.fabric.switch": ["s"]}}, CatalogError, "'s': no such switch"),
        ({"grid": {"catalog": ["x.toml"]}}, CatalogError, "catalog: "),
    ],
)
def test_what_no_point_can_have_is_refused_before_anything_runs(
    changes: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind) as caught:
        planned(**changes)
    assert says in str(caught.value)


def test_a_name_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        json.dumps({"base": SCENARIO, "question": "predict"})[:-1]
        + ',\n"grid": {"cluster.node": ["dgx-h100", "dgx-h10"]}}'
    )
    with pytest.raises(CatalogError, match=r"s\.yaml:2:39: cluster\.node: 'dgx-h10': no such node"):
        plan_sweep(path, questions=QUESTIONS)
