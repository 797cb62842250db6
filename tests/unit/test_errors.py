"""Errors carry their problems as data, and make their text of it."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import netloom.errors
from netloom.errors import (
    CatalogError,
    InfeasibleError,
    LabError,
    NetloomError,
    OutputError,
    Problem,
    SpecError,
    Where,
    at,
    place_called,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def problem_of(error: NetloomError) -> Problem:
    (problem,) = error.problems
    return problem


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Where(), ""),
        (Where(key="job.model"), "job.model"),
        (Where(option="--seed"), "--seed"),
        (Where(file="a.csv"), "a.csv"),
        (Where(file="a.csv", line=3), "a.csv:3"),
        (Where(file="a.yaml", line=3, column=5, key="job"), "a.yaml:3:5: job"),
        (Where(line=3), "line 3"),
    ],
)
def test_a_place_is_written_from_the_file_inwards(where: Where, text: str) -> None:
    assert str(where) == text


def test_fields_make_the_text_and_json() -> None:
    error = SpecError(key="job.model", what="is empty", remedy="write a name")
    assert str(error) == "job.model: is empty; write a name"
    assert problem_of(error).to_json() == {
        "where": {"file": "", "line": 0, "column": 0, "key": "job.model", "option": ""},
        "what": "is empty",
        "remedy": "write a name",
    }


@pytest.mark.parametrize(
    ("message", "what", "remedy"),
    [
        ("it is gone", "it is gone", ""),
        ("it is gone; look for it", "it is gone", "look for it"),
        ("a (b; c); do d", "a (b; c)", "do d"),
    ],
)
def test_one_text_is_cut_at_its_last_semicolon_and_stays_the_same(
    message: str, what: str, remedy: str
) -> None:
    error = LabError(message)
    assert str(error) == message
    assert problem_of(error) == Problem(what=what, remedy=remedy)


@pytest.mark.parametrize(
    ("outer", "inner", "key"),
    [
        ("", "nodes", "nodes"),
        ("jobs.0", "", "jobs.0"),
        ("jobs.0", "job.model", "jobs.0.job.model"),
        ("cluster.fabric.topology", "topology.planes", "cluster.fabric.topology.planes"),
        ("job.model", "job.model", "job.model"),
        ("catalog", "catalog", "catalog"),
        ("node", "nodes", "node.nodes"),
    ],
)
def test_a_key_inside_another_continues_it(outer: str, inner: str, key: str) -> None:
    with pytest.raises(SpecError) as caught, at(outer):
        raise SpecError(key=inner, what="is wrong")
    assert problem_of(caught.value).where == Where(key=key)


def test_a_line_inside_a_file_is_a_line_of_it() -> None:
    with pytest.raises(SpecError) as caught, at(file="a.csv"), at(line=4):
        raise SpecError(key="rate", what="is wrong")
    assert str(caught.value) == "a.csv:4: rate: is wrong"
    assert problem_of(caught.value).where == Where(file="a.csv", line=4, key="rate")


def test_the_same_file_is_told_once_and_another_is_told_in_words() -> None:
    with pytest.raises(SpecError) as caught, at(file="a.json"):
        raise SpecError(file="a.json", key="flows.0", what="is wrong")
    assert str(caught.value) == "a.json: flows.0: is wrong"
    with pytest.raises(CatalogError) as caught_other, at("job.model"):
        raise CatalogError(file="m.json", what="is not JSON", remedy="give one")
    assert problem_of(caught_other.value) == Problem(
        where=Where(key="job.model"), what="m.json: is not JSON", remedy="give one"
    )


def test_an_option_is_told_from_a_key_by_its_dashes() -> None:
    assert place_called("--seed") == Where(option="--seed")
    assert place_called("job.seed") == Where(key="job.seed")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("spec", SpecError),
        ("catalog", CatalogError),
        ("infeasible", InfeasibleError),
        ("output", OutputError),
        ("lab", LabError),
    ],
)
def test_an_error_comes_whole_out_of_another_process(kind: str, error: type[NetloomError]) -> None:
    first, second = Problem(what="one"), Problem(where=Where(key="x"), what="two", remedy="y")
    copied = pickle.loads(pickle.dumps(error.of(first, second)))  # noqa: S301  (our own bytes)
    assert (type(copied), copied.kind, copied.problems) == (error, kind, (first, second))
    assert str(copied) == "one\nx: two; y"
    assert copied.args == (str(copied),)


def test_at_most_20_problems_are_shown_and_all_are_kept() -> None:
    many = [Problem(where=Where(file="a.yaml", line=n), what="is wrong") for n in range(1, 26)]
    error = SpecError.of(*many)
    lines = str(error).split("\n")
    assert (len(lines), lines[0], lines[-1]) == (
        21,
        "a.yaml:1: is wrong",
        "a.yaml: and 5 problems more",
    )
    assert error.problems == tuple(many)


SOURCE = Path(netloom.errors.__file__).parent
WITH_FIELDS = (
    "spec",
    "parts",
    "workload",
    "compute",
    "step",
    "results",
    "study",
    "ops",
    "validation",
)
OF_PYDANTIC = "parts/read.py"  # its words come whole from pydantic's errors
ERRORS = {one.__name__ for one in (SpecError, CatalogError, InfeasibleError, OutputError, LabError)}


def whole_texts(package: str) -> Iterator[str]:
    """Yield where errors of *package* are made of one text instead of fields."""
    for path in sorted((SOURCE / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ERRORS and node.args:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}"


@pytest.mark.parametrize("package", WITH_FIELDS)
def test_errors_are_made_of_fields(package: str) -> None:
    # A text would hide the key, and the command line could not say its line.
    assert [one for one in whole_texts(package) if OF_PYDANTIC not in one] == []
