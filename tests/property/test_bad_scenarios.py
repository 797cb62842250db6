"""Whatever is fed to the command line, the user gets a sentence and never a traceback."""

from __future__ import annotations

import copy
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from netloom.cli.main import main
from netloom.spec.compose import compose
from netloom.spec.example import BUILT_IN, example_text, examples
from netloom.spec.nodes import plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Steps = tuple[str | int, ...]
Case = tuple[str, bytes]

NAN, INF = float("nan"), float("inf")
# What each field of the example refuses, by the type of the value that it has there.
WRONG: dict[type, list[object]] = {
    int: [-1, 0, NAN, INF, -INF, 1.5, 10**12, 10**40, "8", "many", "8GB", True, [8], {"a": 8}],
    str: [3, 2.5, NAN, True, [], ["a"], {"a": 1}, "x" * 1000],
    bool: ["yes", "on", 1, 0, 2.5, None, [True], {}],
}
# Legal for these fields, though not for most.
LEGAL: list[tuple[str, object]] = [
    ("zero", 0),
    ("oversubscription", 1.5),
    ("tensor_overlap", None),
]
OPTIONAL = {"job", "published"}  # a cluster alone is a scenario
QUANTITIES = {
    "restart": [
        "",
        "5",
        5,
        0,
        -5,
        "-5s",
        "0s",
        "5 parsecs",
        "5S",
        "1e999s",
        "nan s",
        "2days",
        None,
    ],
    "checkpoint_write": [True, [], {}, "s", "5m/s", "1_s", "5Gbps", "99999999h"],
}
REQUIRED: list[Steps] = [
    ("cluster",),
    ("cluster", "nodes"),
    ("job", "model"),
    ("job", "training"),
    ("job", "training", "global_batch"),
]


def text_of(data: object) -> bytes:
    """Return *data* as JSON, which is YAML, but for the numbers that only YAML can write."""
    text = json.dumps(data, indent=1)
    for ours, theirs in (("-Infinity", "-.inf"), ("Infinity", ".inf"), ("NaN", ".nan")):
        text = text.replace(ours, theirs)
    return text.encode()


def walk(data: object, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """Yield every value in *data* with the steps that lead to it."""
    yield steps, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from walk(value, (*steps, key))
    if isinstance(data, (list, tuple)):
        for index, value in enumerate(data):
            yield from walk(value, (*steps, index))


def changed(data: object, steps: Steps, value: object) -> bytes:
    made: Any = copy.deepcopy(data)
    inner = made
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return text_of(made)


def without(data: object, steps: Steps, *, renamed: str | None = None) -> bytes:
    made: Any = copy.deepcopy(data)
    inner = made
    for step in steps[:-1]:
        inner = inner[step]
    value = inner.pop(steps[-1])
    if renamed is not None:
        inner[renamed] = value
    return text_of(made)


def lists(data: object) -> object:
    """Return *data* with lists for tuples, so that they can be changed."""
    if isinstance(data, dict):
        return {key: lists(value) for key, value in data.items()}
    return [lists(item) for item in data] if isinstance(data, tuple) else data


def mutations(name: str) -> Iterator[Case]:
    """Yield the example *name* with one thing wrong, in every way for every part of it."""
    data = lists(plain(compose(examples()[name])[0]))
    for steps, value in walk(data):
        where = f"{name}:{'.'.join(map(str, steps))}"
        if isinstance(value, dict):
            yield f"{where}:surprise", changed(data, (*steps, "surprise"), 1)
            yield f"{where}:junk", changed(data, (*steps, "x" * 300), {"a": [{"b": None}]})
            for other in ("a", 3, True, [1], None) if steps else ():
                if other is None and steps[-1] in OPTIONAL:
                    continue
                yield f"{where}:{other!r}", changed(data, steps, other)
        if steps and isinstance(steps[-1], str):
            yield f"{where}:typo", without(data, steps, renamed=steps[-1][:-1] + "_")
            yield f"{where}:case", without(data, steps, renamed=steps[-1].upper())
        for wrong in WRONG.get(type(value), []):
            if steps[-1] != "name" and (str(steps[-1]), wrong) not in LEGAL:
                yield f"{where}:{str(wrong)[:20]}", changed(data, steps, wrong)


def special() -> Iterator[Case]:
    """Yield what is wrong in ways that only some fields or only whole files can be."""
    data = lists(plain(compose(example_text())[0]))
    for key, values in QUANTITIES.items():
        for value in values:
            yield f"{key}:{value!r}", changed(data, ("job", "reliability"), {key: value})
    for steps in REQUIRED:
        yield f"without {steps}", without(data, steps)
    for kind in ("fat", "", 3, None, "Torus", ["torus"]):
        yield f"kind:{kind!r}", changed(data, ("cluster", "fabric", "topology"), {"kind": kind})
    for dimensions in ([], [0], [-1, 4], ["4"], [4.0], 4, [10**9], [2] * 100):
        torus = {"kind": "torus", "dimensions": dimensions}
        yield (
            f"torus:{str(dimensions)[:20]}",
            changed(data, ("cluster", "fabric", "topology"), torus),
        )
    yield "both sizes", changed(data, ("cluster", "gpus"), 16384)
    for compare in ([], "tcp-400g", [""], [3], [None], [["a"]], {"a": 1}, ["a"] * 65):
        yield f"compare:{str(compare)[:20]}", changed(data, ("compare",), compare)


def broken() -> Iterator[Case]:
    """Yield files that are not scenarios, YAML, or text at all."""
    good = example_text()
    lines = good.splitlines()
    for line in range(8, len(lines), 3):
        for bad in ("}", "\t- x", "@bad: 1", "key: [1, 2", "? {a: b}\n: 1", "key: 'open", "a: *b"):
            cut = [*lines[:line], bad, *lines[line:]]
            yield f"line {line}:{bad!r}", "\n".join(cut).encode()
    rng = np.random.default_rng(7)
    for size in (1, 7, 100, 10_000):
        yield f"random {size}", b"\xff" + rng.bytes(size)
    for place in rng.integers(0, len(good), size=8).tolist():
        yield f"NUL at {place}", (good[:place] + "\0" + good[place:]).encode()
        yield f"latin-1 at {place}", good[:place].encode() + b"\xe9" + good[place:].encode()
    bomb = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]\n" for i in range(1, 10)
    )
    whole = {
        "empty": "",
        "comment": "# nothing\n",
        "null": "null",
        "list": "- 1\n- 2\n",
        "word": "scenario",
        "number": "42",
        "two documents": good + "\n---\n" + good,
        "yaml 1.1": "%YAML 1.1\n---\n" + good,
        "python tag": "cluster: !!python/object/apply:os.system ['true']\n",
        "binary tag": "name: !!binary aGVsbG8=\n" + good.replace("name:", "#"),
        "merge": good + "\n<<: {name: x}\n",
        "twice": good + "\njob: {model: m, training: {global_batch: 1}}\n",
        "bomb": bomb,
        "quadratic": "a: &a [" + "x," * 200 + "]\nb: [" + "*a," * 200 + "]\n",
        "recursive": "cluster: &c {fabric: *c}\n",
        "deep list": "[" * 5_000,
        "deep mapping": "{a: " * 5_000,
        "deep block": "".join(" " * i + "a:\n" for i in range(200)),
        "deep but closed": "[" * 60 + "]" * 60,
        "wide": "- x\n" * 50_000,
        "too large": "# padding\n" * 200_000,
        "long number": f"cluster: {{gpus: {'9' * 500_000}}}\n",
        "long hexadecimal": f"cluster: {{gpus: 0x{'f' * 5_000}}}\n",
        "long key": f"{'k' * 2_000}: 1\n" + good,
        "utf-16": good.encode("utf-16").decode("latin-1"),
        "bad escape": 'name: "\\q"\n',
        "bad character": 'name: "\\U99999999"\n',
        "half a pair": good.replace("Llama 3.1 405B on 16,384 H100", '"\\ud83d"'),
        "html": "<!DOCTYPE html><html><body>404</body></html>",
        "toml": "[cluster]\nnodes = 2048\n",
        "ini": "nodes=2048\n",
        "form feed": "\x0c" + good,
    }
    for name, text in whole.items():
        yield name, text.encode()


CASES = dict([*mutations(BUILT_IN), *mutations("trillion-3k"), *special(), *broken()])


def test_there_are_at_least_two_hundred_distinct_bad_scenarios() -> None:
    assert len(set(CASES.values())) == len(CASES)
    assert len(CASES) >= 200


@pytest.mark.parametrize("case", list(CASES))
def test_a_bad_scenario_gets_a_sentence_and_exit_code_2(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(CASES[case])
    code = main(["check", os.fspath(path)])
    got = capsys.readouterr()
    assert (code, got.out) == (2, "")
    assert got.err.startswith(f"netloom: {path}")
    assert "Traceback" not in got.err
    assert "is refused: " not in got.err  # pydantic's own words: a remedy of ours is missing
    assert len(got.err) < 20_000


keys = st.sampled_from(["cluster", "job", "nodes", "fabric", "topology", "kind", "compare", "<<"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("torus")
trees = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner))
marks = st.from_regex(r"[ \n:{}\[\]a&*!|>'\"%?,-]*")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary() | (st.text() | marks).map(str.encode) | trees.map(text_of))
@example(content=example_text().encode())
def test_any_content_is_a_scenario_or_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(content)
    code = main(["check", os.fspath(path)])
    got = capsys.readouterr()
    assert code in {0, 2}
    assert bool(got.err) == (code == 2)
    assert "Traceback" not in got.err
