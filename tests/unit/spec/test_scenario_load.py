from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from netloom.errors import SpecError
from netloom.fabric.topologies.torus import Torus
from netloom.spec.load import MAX_FILE_BYTES, load, parse
from netloom.spec.scenario import Job

GOOD = """\
cluster:
  nodes: 2048
  fabric:
    topology: {kind: rail-fat-tree, oversubscription: 2}
job:
  model: llama-3.1-405b
  training:
    global_batch: 2048
"""


def refusal(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        parse(text, name="x.yaml")
    return str(caught.value)


def in_parallel(line: str) -> str:
    return GOOD + f"  parallel:\n    {line}\n"


def test_a_yaml_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(GOOD)
    scenario = load(path)
    assert scenario == load(str(path)) == parse(GOOD, name="x.yaml")
    assert scenario.cluster.nodes == 2048
    assert scenario.job.trained.sequence == 4096


def test_json_with_tabs_escapes_and_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    data = {
        "name": "\U0001f600",  # json writes it as a pair of surrogates
        "cluster": {"gpus": 8},
        "job": {"model": "a/b", "training": {"global_batch": 1}},
    }
    path = tmp_path / "x.json"
    text = json.dumps(data, indent="\t").replace("a/b", "a\\/b")
    path.write_text(text, encoding="utf-8-sig")
    scenario = load(path)
    assert scenario == load(data)
    assert (scenario.name, scenario.job.model) == ("\U0001f600", "a/b")


def test_a_dict_is_read_with_lists_and_numpy_counts() -> None:
    fabric = {"topology": {"kind": "torus", "dimensions": [4, 4]}}
    data = {
        "cluster": {"gpus": np.int64(16), "fabric": fabric},
        "job": {"model": "m", "training": {"global_batch": 1}},
        "compare": ["tcp-100g"],
    }
    scenario = load(data)
    assert scenario.cluster.gpus == 16
    assert scenario.cluster.fabric.topology == Torus(dimensions=(4, 4))
    assert scenario.compare == ("tcp-100g",)


def test_a_dict_is_refused_by_field() -> None:
    with pytest.raises(SpecError) as caught:
        load({"cluster": {"gpus": 10**5000}, "job": {"model": object()}})
    assert str(caught.value).startswith("job.model: a Python object is not a value")
    with pytest.raises(SpecError, match=r"^cluster.gpus: a very long number is too large; it must"):
        load(
            {"cluster": {"gpus": 10**5000}, "job": {"model": "m", "training": {"global_batch": 1}}}
        )


def test_a_dict_that_holds_itself_is_refused() -> None:
    data: dict[str, object] = {}
    data["cluster"] = data
    with pytest.raises(SpecError, match="nested deeper than 32"):
        load(data)


def test_a_key_that_is_not_text_is_refused_in_a_dict() -> None:
    with pytest.raises(SpecError, match="the key 3 is not text"):
        load({"cluster": {3: 4}})


def test_paths_in_a_file_are_relative_to_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("catalog: own.toml\n" + GOOD.replace("llama-3.1-405b", "sub/config.json"))
    scenario = load(path)
    assert scenario.catalog == str(tmp_path / "own.toml")
    assert scenario.job.model == str(tmp_path / "sub/config.json")


def test_a_catalogue_name_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(GOOD)
    assert load(tmp_path / "x.yaml").job.model == "llama-3.1-405b"


def test_an_unknown_key_names_the_closest() -> None:
    assert refusal(GOOD.replace("topology", "topolgy")) == (
        "x.yaml:4:5: cluster.fabric.topolgy: unknown key; did you mean 'topology'?"
    )


def test_a_key_with_the_unit_in_its_name_is_unknown() -> None:
    got = refusal(GOOD + "  reliability: {restart_s: 5s}\n")
    assert got == "x.yaml:9:17: job.reliability.restart_s: unknown key; did you mean 'restart'?"


def test_a_value_out_of_range_shows_field_value_and_remedy() -> None:
    assert refusal(GOOD.replace("batch: 2048", "batch: 0")) == (
        "x.yaml:8:19: job.training.global_batch: 0 is too small; it must be at least 1"
    )


def test_a_missing_key_is_reported_at_its_mapping_with_its_meaning() -> None:
    assert refusal(GOOD.replace("global_batch: 2048", "sequence: 8192")) == (
        "x.yaml:7:3: job.training.global_batch: missing; add it (sequences in a step)"
    )


def test_every_key_missing_from_one_mapping_is_reported() -> None:
    model = Job.model_fields["model"].description or ""
    assert refusal("cluster: {gpus: 8}\njob: {}\n").splitlines() == [
        f"x.yaml:2:1: job.model: missing; add it ({model[0].lower()}{model[1:]})",
    ]


def test_all_problems_are_listed_in_the_order_of_the_file() -> None:
    text = GOOD.replace("nodes: 2048", "nodes: -1").replace("batch: 2048", "batch: x")
    lines = refusal("label: x\n" + text).splitlines()
    assert [line.split(": ")[0] for line in lines] == ["x.yaml:1:1", "x.yaml:3:10", "x.yaml:9:19"]


def test_no_more_than_twenty_problems_are_listed() -> None:
    lines = refusal(GOOD + "".join(f"key{i}: 1\n" for i in range(30))).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "x.yaml: and 10 problems more"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tensor: true", "13: job.parallel.tensor: true is a truth value; it must be a whole"),
        ("tensor: 2.0", "2.0 is a number; it must be a whole number; write 2"),
        ("tensor: '8'", "'8' is text; it must be a whole number; write 8"),
        ("tensor: 1_024", "'1_024' is text; it must be a whole number; write 1024"),
        ("tensor: 1:30", "'1:30' is text; it must be a whole number"),
        ("tensor: 017", "017 starts with a zero; write it without"),
        ("tensor: .nan", ".nan is a number; it must be a whole number"),
        ("tensor: -.inf", "-.inf is a number; it must be a whole number"),
        ("tensor: 1e999", "1e999 is a number; it must be a whole number"),
        ("tensor: [8]", "a list stands here; it must be a whole number"),
        ("tensor: {a: 8}", "5: job.parallel.tensor: a mapping stands here; it must be a whole"),
        ("tensor:", "10:5: job.parallel.tensor: has no value; it must be a whole number, or leave"),
        ("tensor: 8388608", "8388608 is too large; it must be at most 4194304"),
        ("tensor: " + "9" * 10_000, "a number of 10000 digits is absurd; write it shorter"),
        ("zero: true", "true is a truth value; it must be a whole number"),
        ("zero: 4", "4 is too large; it must be at most 3"),
        ("sequence_parallel: on", "'on' is text; it must be true or false; write true"),
        ("sequence_parallel: no", "'no' is text; it must be true or false; write false"),
        ("sequence_parallel: 1", "1 is a number; it must be true or false; write true"),
        ("tensor: 8\n    tensor: 9", "11:5: job.parallel.tensor: given twice, first on line 10"),
        ("tensor: !!int 8", "the tag '!!int' is not allowed; remove it"),
        ("<<: {tensor: 8}", "merge keys are not part of YAML 1.2; write the keys out"),
        ("tensor: *eight", "the alias *eight stands for nothing, or for itself"),
        ("? [tensor]\n    : 8", "a key is a name; a list, a mapping or an alias cannot be one"),
        ('"a\\nb": 8', "job.parallel.'a\\nb': unknown key"),
        ('tensor: "\\ud83d"', "half of a surrogate pair"),
    ],
)
def test_a_wrong_degree_says_what_to_write(line: str, says: str) -> None:
    got = refusal(in_parallel(line))
    assert says in got
    assert len(got.splitlines()) == 1


def test_hexadecimal_and_octal_are_read_as_yaml_1_2_writes_them() -> None:
    parallel = parse(in_parallel("{tensor: 0x10, pipeline: 0o17}"), name="x").job.parallel
    assert (parallel.tensor, parallel.pipeline) == (16, 15)


def test_words_that_older_yaml_took_for_booleans_stay_text() -> None:
    assert parse("name: no\n" + GOOD, name="x").name == "no"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "rail-fat-tree",
            "rail-tree",
            "topology.kind: 'rail-tree' is not known here; did you mean",
        ),
        (
            "rail-fat-tree",
            "3",
            "topology.kind: 3 is not known here; choose one of dragonfly",
        ),
        (
            "kind: rail-fat-tree, ",
            "",
            "topology: has no 'kind'; choose one of dragonfly",
        ),
        (" 2}", " .inf}", "oversubscription: .inf is not a finite number; write one"),
        (" 2}", " .NaN}", "oversubscription: .NaN is not a finite number; write one"),
        (" 2}", " 0.5}", "oversubscription: 0.5 is too small; it must be at least 1"),
        (" 2}", " 'a'}", "oversubscription: 'a' is text; it must be a number"),
        (" 2}", " '2'}", "it must be a number; write 2 without quotes"),
        (
            "rail-fat-tree, oversubscription: 2",
            "torus, dimensions: [4, 0]",
            "x.yaml:4:45: cluster.fabric.topology.dimensions[1]: 0 is too small",
        ),
        (
            "{kind: rail-fat-tree, oversubscription: 2}",
            "fat-tree",
            "must be a mapping with a 'kind'",
        ),
        ("model: llama-3.1-405b", "model: 3", "3 is a number; it must be text; put it in quotes"),
        ("model: llama-3.1-405b", "model: ''", "job.model: is empty; write a name"),
        ("model: llama-3.1-405b", "model: " + "m" * 201, "is too long; write at most 200"),
        ("nodes: 2048", "nodes: 2048\n  gpus: 8", "cluster: give exactly one of 'nodes' and"),
        ("global_batch: 2048", "global_batch: 8\n    precision: fp4", "did you mean 'nvfp4'?"),
        ("job:", "compare: []\njob:", "compare: is empty; list at least 1, or leave"),
        ("job:", "compare: a\njob:", "compare: 'a' is text; it must be a list, such as [a, b]"),
        ("job:", f"compare: {['a'] * 65}\njob:", "compare: lists 65; list at most 64"),
    ],
)
def test_a_wrong_value_anywhere_says_what_to_write(old: str, new: str, says: str) -> None:
    assert says in refusal(GOOD.replace(old, new))


@pytest.mark.parametrize("escape", ["\\e[31m", "\\x07", "\\n", "\\t", "\\x7f", "\\x9b31m", "\\0"])
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("cluster:", 'name: "a%sb"\ncluster:', "name"),
        ("nodes: 2048", 'nodes: 2048\n  node: "a%sb"', "cluster.node"),
        ("fabric:", 'fabric:\n    technology: "a%sb"', "cluster.fabric.technology"),
        ("fabric:", 'fabric:\n    switch: "a%sb"', "cluster.fabric.switch"),
        ("llama-3.1-405b", '"a%sb"', "job.model"),
        ("job:", 'compare: ["a%sb"]\njob:', "compare[0]"),
        ("job:", 'catalog: "a%sb"\njob:', "catalog"),
    ],
)
def test_a_name_that_a_terminal_would_act_on_is_refused(
    old: str, new: str, field: str, escape: str
) -> None:
    said = refusal(GOOD.replace(old, new % escape))
    assert f"{field}: holds the control character '\\" in said
    assert said.isprintable()


def test_a_name_may_be_in_any_language() -> None:
    name = "\u6d4b\u8bd5 \u00e9t\u00e9"
    assert parse(f"name: {name}\n{GOOD}", name="x.yaml").name == name


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("600", "600 has no unit; a time is written as '2us'"),
        ("'600'", "'600' has no unit; a time is written as '2us'"),
        ("true", "true has no unit; a time is written as '2us'"),
        ("-5s", "'-5s' is too small; it must be more than 0"),
        ("2days", "'2days' is too large; it must be at most 1d"),
        ("5Gbps", "'5Gbps' has the unit 'Gbps'; a time is written in"),
        ("5MS", "'5MS' has the unit 'MS'; did you mean 'ms'?"),
        ("1e999s", "'1e999s' is not a finite time"),
    ],
)
def test_a_quantity_needs_its_unit_and_keeps_to_its_range(value: str, says: str) -> None:
    assert says in refusal(GOOD + f"  reliability: {{restart: {value}}}\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "x.yaml: is empty; a scenario has the keys 'cluster' and 'job'"),
        ("{}", "x.yaml: is empty"),
        ("# only a comment\n", "x.yaml: is empty"),
        ("- a", "x.yaml: holds a list; a scenario has the keys"),
        ("3", "x.yaml: holds 3; a scenario"),
        ("{a: 1", "x.yaml:1:6: not valid YAML"),
        ("a: 1\n\tb: 2", "x.yaml:2:1: not valid YAML"),
        (GOOD + "---\n" + GOOD, "x.yaml:10:1: a second document starts here"),
        ("%YAML 1.1\n---\n" + GOOD, "x.yaml:2:1: this file says it is older YAML"),
        ("[" * 50_000, "x.yaml:1:34: nested deeper than 32 levels"),
        ("a: 1\nb: " + "!!" * 100_000, "x.yaml:2:1: a line of 200003 characters; break it"),
        ("a: &a [*a]", "x.yaml:1:8: the alias *a stands for nothing, or for itself"),
        ("- a\n" * 20_000, "x.yaml:10000:3: more than 10000 values"),
        ("a: \x07", "x.yaml:1:4: the character U+0007 is not allowed"),
        ("a: 1\nb: \0", "x.yaml:2: a NUL byte; this is not a text file"),
        ('a: "\\U99999999"', "x.yaml: not valid YAML"),
    ],
)
def test_what_is_no_scenario_at_all_is_refused(text: str, says: str) -> None:
    assert refusal(text).startswith(says)


def test_aliases_are_followed_while_they_stay_small() -> None:
    text = GOOD.replace("batch: 2048", "batch: &b 2048")
    text += "    sequence: *b\n"
    assert parse(text, name="x").job.trained.sequence == 2048


def test_a_yaml_bomb_does_not_go_off() -> None:
    # Nine levels of ten aliases each would be a billion values.
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "more than 10000 values, aliases expanded" in refusal("\n".join(lines))


def test_aliases_cannot_nest_deeper_than_brackets_may() -> None:
    # Each line holds the one before it twenty levels down: six hundred levels in all.
    lines = ["l0: &l0 x"]
    lines += [f"l{i}: &l{i} {'[' * 20}*l{i - 1}{']' * 20}" for i in range(1, 30)]
    assert refusal("\n".join(lines)).startswith("x.yaml:3:29: nested deeper than 32 levels")


def test_a_file_over_a_mebibyte_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: reading it would take minutes
    with pytest.raises(SpecError, match=f"larger than {MAX_FILE_BYTES} bytes"):
        load(path)


def test_a_missing_file_a_folder_a_pipe_and_a_device_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    cases: list[tuple[str | Path, str]] = [
        (tmp_path / "none.yaml", r"cannot be read \(No such file or directory\); check the path"),
        (tmp_path, "a folder; name a YAML or JSON file"),
        (tmp_path / "pipe", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        ("a\0b", "cannot be read"),
        ("n" * 5000, "cannot be read"),
    ]
    for path, says in cases:
        with pytest.raises(SpecError, match=says):
            load(path)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"name: a\nname: \xff\xfe\n")
    with pytest.raises(SpecError, match=r"x.yaml:2: not UTF-8 text \(invalid start byte\)"):
        load(path)
