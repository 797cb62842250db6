from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.spec.scenario import Count
from netloom.spec.strict import Strict
from netloom.spec.sweep.file import MAX_POINTS, load_sweep, sweep_example_text
from netloom.spec.sweep.points import expand, where

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = {
    "cluster": {"nodes": 4},
    "job": {"model": "gpt-2-1.5b", "training": {"global_batch": 32}},
}
BASE = """\
base:
  cluster: {nodes: 4}
  job: {model: gpt-2-1.5b, training: {global_batch: 32}}
question: predict
"""


class Options(Strict):
    paths: Count = 1


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def complaint(folder: Path, rest: str, *, base: str = BASE) -> str:
    """Return what is said of a sweep, without the folder it is in."""
    path = written(folder, base + textwrap.dedent(rest))
    with pytest.raises(SpecError) as caught:
        expand(load_sweep(path), options=None)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_grid_is_every_combination_the_last_axis_fastest() -> None:
    grid = {"cluster.nodes": [1, 2], "job.parallel.tensor": [1, 2, 4]}
    spec = load_sweep({"base": SCENARIO, "question": "predict", "grid": grid})
    points = expand(spec, options=None)
    asked = [(point.scenario.cluster.nodes, point.scenario.job.parallel.tensor) for point in points]
    assert asked == [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)]
    assert points[1].values == {"cluster.nodes": 1, "job.parallel.tensor": 2}
    assert spec.paths == ("cluster.nodes", "job.parallel.tensor")


def test_listed_points_are_each_combined_with_the_grid() -> None:
    spec = load_sweep(
        {
            "base": SCENARIO,
            "question": "predict",
            "points": [
                {"cluster.nodes": 1, "job.training.global_batch": 8},
                {"cluster.nodes": 2, "job.training.global_batch": 16},
            ],
            "grid": {"cluster.fabric.technology": ["a", "b"]},
        }
    )
    points = expand(spec, options=None)
    asked = [
        (
            point.scenario.cluster.nodes,
            point.scenario.job.trained.global_batch,
            point.scenario.cluster.fabric.technology,
        )
        for point in points
    ]
    assert asked == [(1, 8, "a"), (1, 8, "b"), (2, 16, "a"), (2, 16, "b")]


def test_a_range_of_seeds_is_counted_from_its_first() -> None:
    grid = {"seed": {"from": 7, "count": 3}}
    spec = load_sweep({"base": SCENARIO, "question": "q", "grid": grid})
    assert [point.seed for point in expand(spec, options=None)] == [7, 8, 9]


def test_options_are_those_of_the_file_with_the_varied_ones_over_them() -> None:
    spec = load_sweep(
        {
            "base": SCENARIO,
            "question": "q",
            "options": {"paths": 3},
            "points": [{"cluster.nodes": 1}, {"options.paths": 5}],
        }
    )
    points = expand(spec, options=Options)
    assert [point.options for point in points] == [Options(paths=3), Options(paths=5)]


def test_an_option_that_will_not_do_is_refused_where_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path, BASE + "grid: {options.paths: [1, 0]}\n")
    with pytest.raises(SpecError, match=r"yaml:5:27: options\.paths: 0 is too small; .* least 1"):
        expand(load_sweep(path), options=Options)
    path = written(tmp_path, BASE + "options: {path: 2}\ngrid: {cluster.nodes: [1]}\n")
    with pytest.raises(SpecError, match=r"options\.path: unknown key; did you mean 'paths'"):
        expand(load_sweep(path), options=Options)


def test_a_value_may_be_a_whole_mapping_or_a_list() -> None:
    trees = [{"kind": "fat-tree"}, {"kind": "rail-fat-tree", "oversubscription": 2}]
    spec = load_sweep(
        {
            "base": SCENARIO,
            "question": "predict",
            "grid": {"cluster.fabric.topology": trees, "compare": [["a"], ["a", "b"]]},
        }
    )
    points = expand(spec, options=None)
    kinds = [point.scenario.cluster.fabric.topology.kind for point in points]
    assert kinds == ["fat-tree", "fat-tree", "rail-fat-tree", "rail-fat-tree"]
    assert points[1].scenario.compare == ("a", "b")


def test_the_base_may_lack_what_every_point_gives(tmp_path: Path) -> None:
    base = "base: {job: {model: gpt-2-1.5b, training: {global_batch: 32}}}\nquestion: q\n"
    path = written(tmp_path, base + "grid: {cluster.gpus: [8, 16]}\n")
    points = expand(load_sweep(path), options=None)
    assert [point.scenario.cluster.gpus for point in points] == [8, 16]


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "base.yaml").write_text(
        "cluster: {nodes: 4}\ncatalog: own.toml\n"
        "job: {model: base.json, training: {global_batch: 32}}\n"
    )
    path = written(
        tmp_path,
        """\
        base: below/base.yaml
        question: predict
        points: [{cluster.nodes: 1}, {job.model: varied.json}]
        """,
    )
    points = expand(load_sweep(path), options=None)
    folder = tmp_path.absolute()
    assert points[0].scenario.job.model == str(folder / "below" / "base.json")
    assert points[1].scenario.job.model == str(folder / "varied.json")
    assert points[1].scenario.catalog == str(folder / "below" / "own.toml")


def test_where_a_field_is_decided(tmp_path: Path) -> None:
    path = written(tmp_path, BASE + "grid: {cluster.nodes: [1, 2]}\n")
    spec = load_sweep(path)
    nodes = expand(spec, options=None)[1].nodes
    assert str(where(spec, nodes, "cluster.nodes")) == f"{path}:5:27"
    assert str(where(spec, nodes, "job.model")) == str(path)


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        (
            "grid: {cluster.nodez: [1]}",
            "sweep.yaml:5:8: cluster.nodez: unknown key; did you mean 'node'?",
        ),
        (
            "grid: {cluster.nodes: [1, 0, x]}",
            (
                "sweep.yaml:5:27: cluster.nodes: 0 is too small; it must be at least 1\n"
                "sweep.yaml:5:30: cluster.nodes: 'x' is text; it must be a whole number"
            ),
        ),
        (
            "grid: {cluster.gpus: [8]}",
            (
                "sweep.yaml:5:23: cluster: with cluster.gpus = 8: give exactly one of 'nodes' and "
                "'gpus'"
            ),
        ),
        (
            "grid: {cluster.nodes.deep: [8]}",
            (
                "sweep.yaml:5:8: cluster.nodes.deep: cluster.nodes holds 4, which has no keys; "
                "shorten the path"
            ),
        ),
        (
            "grid: {cluster.fabric.topology.tiers: [2]}",
            (
                "sweep.yaml:5:40: cluster.fabric.topology: with cluster.fabric.topology.tiers = 2: "
                "has no 'kind'"
            ),
        ),
        ("grid: {cluster.nodes: 4}", "sweep.yaml:5:23: grid.cluster.nodes: 4 stands here; it must"),
        ("grid: {cluster.nodes: []}", "sweep.yaml:5:23: grid.cluster.nodes: is empty; it must be"),
        ("grid: {cluster.nodes: [4, 4]}", "sweep.yaml:5:27: grid.cluster.nodes: 4 is given twice"),
        ("grid: [1]", "sweep.yaml:5:7: grid: a list stands here; it must be a mapping"),
        ("points: {a: 1}", "sweep.yaml:5:9: points: a mapping stands here; it must be a list"),
        ("points: [1]", "sweep.yaml:5:10: points[0]: 1 stands here; a point is a mapping of"),
        ("", "sweep.yaml: nothing varies; add 'grid' or 'points'"),
        (
            "points: [{cluster.nodes: 1}]\ngrid: {cluster: [{nodes: 2}]}",
            "sweep.yaml:6:8: cluster: varies what 'cluster.nodes' varies too; keep one of them",
        ),
        ("grid: {a..b: [1]}", "sweep.yaml:5:8: grid.a..b: is no path; write keys with dots"),
        ("grid: {options: [1]}", "sweep.yaml:5:8: grid.options: cannot be varied"),
        ("grid: {options.x: [1]}", "sweep.yaml:5:8: options: 'predict' takes none; leave them out"),
        ("grid: {seed: [-1]}", "sweep.yaml:5:15: grid.seed: -1 is no seed; give whole numbers"),
        ("grid: {seed: [1.5]}", "sweep.yaml:5:15: grid.seed: 1.5 is no seed; give whole numbers"),
        (
            "grid: {seed: {from: 0}}",
            (
                "sweep.yaml:5:14: grid.seed: a range of seeds has two whole numbers; "
                "write {from: 0, count: 16}"
            ),
        ),
        (
            f"grid: {{seed: {{from: 0, count: {MAX_POINTS + 1}}}}}",
            f"sweep.yaml:5:14: grid.seed: count: {MAX_POINTS + 1} is out of range; give 1 to",
        ),
        ("grid: {cluster.nodes: [1]}\ncolour: red", "sweep.yaml:6:1: colour: unknown key"),
        ("grid: {cluster.nodes: [1]", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_remedy(
    rest: str, says: str, tmp_path: Path
) -> None:
    assert says in complaint(tmp_path, rest)


def test_too_many_points_are_refused(tmp_path: Path) -> None:
    # 400 x 400 = 160,000.
    many = list(range(1, 401))
    rest = f"grid: {{cluster.nodes: {many}, job.training.global_batch: {many}}}"
    assert "160,000 points; 100,000 are the most, split the sweep" in complaint(tmp_path, rest)


def test_trouble_in_the_base_is_told_where_the_base_stands(tmp_path: Path) -> None:
    rest = "question: q\ngrid: {cluster.nodes: [1]}\n"
    wrong = "base: {cluster: {nodes: 4}, job: {model: m, training: {global_batch: 0}}}\n"
    said = complaint(tmp_path, rest, base=wrong)
    assert said == (
        "sweep.yaml:1:70: base.job.training.global_batch: 0 is too small; it must be at least 1"
    )
    (tmp_path / "base.yaml").write_text(wrong.removeprefix("base: "))
    said = complaint(tmp_path, rest, base="base: base.yaml\n")
    assert said.startswith("base.yaml:1:64: job.training.global_batch: 0 is too small")
    said = complaint(tmp_path, rest, base="base: none.yaml\n")
    assert said.startswith("sweep.yaml:1:7: base: none.yaml: cannot be read")
    said = complaint(tmp_path, rest, base="base: 12\n")
    assert said.startswith("sweep.yaml:1:7: base: 12 stands here; it must be the path")


def test_a_dict_is_refused_by_field_alone() -> None:
    with pytest.raises(SpecError, match=r"^question: missing; add it"):
        load_sweep({"base": SCENARIO, "grid": {"cluster.nodes": [1]}})
    spec = load_sweep({"base": SCENARIO, "question": "q", "grid": {"cluster.nodes": [0]}})
    with pytest.raises(SpecError, match=r"^cluster\.nodes: 0 is too small"):
        expand(spec, options=None)


def test_the_example_has_the_twelve_points_it_promises(tmp_path: Path) -> None:
    path = written(tmp_path, sweep_example_text())
    assert len(expand(load_sweep(path), options=None)) == 12


def test_a_wrong_option_is_blamed_on_the_sweep_file_and_not_on_its_base(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("cluster: {nodes: 1}\n")
    text = "base: base.yaml\nquestion: predict\noptions: {paths: 0}\ngrid: {cluster.nodes: [1]}\n"
    path = written(tmp_path, text)
    with pytest.raises(SpecError, match=rf"{path.name}:3:18: options\.paths: 0 is too small"):
        expand(load_sweep(path), options=Options)
