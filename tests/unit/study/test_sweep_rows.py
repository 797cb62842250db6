from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from counting import QUESTIONS, SCENARIO, sweep_of

import netloom as nl
from netloom.study.sweep.drive import Found
from netloom.study.sweep.plan import plan_sweep
from netloom.study.sweep.result import Sweep, gathered
from netloom.study.sweep.task import do

if TYPE_CHECKING:
    from pathlib import Path


def found(asked: dict[str, Any]) -> Sweep:
    """Return a sweep that was computed here, without any store or process."""
    plan = plan_sweep(asked, questions=QUESTIONS)
    done = {point.key: do(point.task) for point in plan.points}
    answers = {key: Found(text=one.text, error=one.error) for key, one in done.items()}
    return gathered(plan, answers, wall_s=2.0)


def over_seeds(**changes: Any) -> Sweep:
    asked = {
        "base": SCENARIO,
        "question": "count",
        "grid": {"cluster.nodes": [1, 2], "seed": {"from": 0, "count": 3}},
    }
    return found(asked | changes)


def test_a_row_has_what_varies_then_what_was_found() -> None:
    table = over_seeds().table()
    assert table.names == (
        "point",
        "cluster.nodes",
        "seed",
        "error",
        "value_s",
        "part_bytes.one",
        "text",
    )
    # 2 nodes, seed 1: 2 x 10 + 1.
    assert table.rows()[4] == {
        "point": 4,
        "cluster.nodes": 2,
        "seed": 1,
        "error": None,
        "value_s": 21.0,
        "part_bytes.one": 1,
        "text": "x",
    }
    assert (table.units["value_s"], table.units["part_bytes.one"]) == ("s", "B")
    assert table.units["cluster.nodes"] == ""


def test_a_failed_point_has_a_row_that_says_why() -> None:
    sweep = over_seeds(options={"refuse": [1]})
    rows = sweep.table().rows()
    assert [row["point"] for row in rows if row["error"]] == [1, 4]
    assert rows[1]["value_s"] is None
    assert (sweep.num_computed, len(sweep.failed)) == (4, 2)


def test_means_over_seeds_have_their_interval() -> None:
    means = over_seeds().means()
    assert means is not None
    first, second = means.rows()
    # Seeds 0, 1, 2 at 1 node: 10, 11, 12; deviation 1, t(0.975, 2) / sqrt(3) = 2.48414.
    assert (first["cluster.nodes"], first["seeds"], first["failed"]) == (1, 3, 0)
    assert first["value_s.mean"] == pytest.approx(11)
    assert first["value_s.ci95_low"] == pytest.approx(11 - 2.48414, abs=1e-5)
    assert first["value_s.ci95_high"] == pytest.approx(11 + 2.48414, abs=1e-5)
    assert (first["value_s.min"], first["value_s.max"]) == (10, 12)
    assert second["value_s.mean"] == pytest.approx(21)
    assert means.units["value_s.mean"] == "s"
    assert not [name for name in means.names if name.startswith(("seed.", "point", "text"))]


def test_means_say_how_many_seeds_failed() -> None:
    means = over_seeds(options={"refuse": [0]}).means()
    assert means is not None
    first = means.rows()[0]
    assert (first["seeds"], first["failed"], first["value_s.mean"]) == (2, 1, 11.5)


def test_a_point_whose_seeds_all_failed_has_no_mean() -> None:
    means = over_seeds(options={"refuse": [0, 1, 2]}).means()
    assert means is not None
    assert means.rows()[0] == {"cluster.nodes": 1, "seeds": 0, "failed": 3}


def test_without_seeds_there_are_no_means(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=1) | {"grid": {"cluster.nodes": [1]}}
    sweep = found(asked)
    assert sweep.means() is None
    assert sweep.plan.points[0].seed == 0, "a question with randomness gets a seed all the same"


def test_values_of_several_kinds_become_text() -> None:
    trees = [None, {"kind": "fat-tree"}]
    sweep = over_seeds(grid={"cluster.fabric.loss": [None, "1%"], "serving": [None]})
    assert sweep.table().column("cluster.fabric.loss").cells() == [None, "1%"]
    sweep = over_seeds(grid={"cluster.fabric.topology": trees[1:]})
    assert json.loads(str(sweep.table().rows()[0]["cluster.fabric.topology"])) == trees[1]


def test_a_sweep_is_an_arrow_table_and_one_line() -> None:
    sweep = over_seeds()
    assert repr(sweep) == "<Sweep count over 6 points: 0 from the store, 6 computed, 0 failed>"
    assert sweep.__arrow_c_stream__() is not None
    assert "<table>" in sweep._repr_html_()


def test_json_has_the_documented_keys() -> None:
    plain = over_seeds(options={"refuse": [2]}).to_json()
    json.dumps(plain, allow_nan=False)
    assert list(plain) == [
        "question",
        "netloom",
        "points",
        "from_store",
        "computed",
        "failed",
        "wall_s",
        "results",
        "means",
    ]
    assert (plain["points"], plain["computed"], plain["failed"]) == (6, 4, 2)
    assert plain["results"][1] | {"key": ""} == {
        "point": 1,
        "values": {"cluster.nodes": 1, "seed": 1},
        "key": "",
        "from_store": False,
        "error": None,
        "result": {"value_s": 11.0, "part_bytes": {"one": 1}, "text": "x"},
    }
    assert plain["results"][2]["error"] == "seed 2: has no answer; ask another"


def test_the_facade_sweeps_a_dict(tmp_path: Path) -> None:
    asked = {"base": SCENARIO, "question": "predict", "grid": {"cluster.nodes": [1, 2]}}
    sweep = nl.sweep(asked, store=tmp_path / "s.db", workers=1)
    assert [row["gpus"] for row in sweep.table().rows()] == [8, 16]
