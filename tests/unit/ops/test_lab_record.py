from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.ops.lab import (
    InjectedFault,
    Lab,
    Program,
    check_name,
    default_name,
    lab_from_json,
    lab_to_json,
    mark_of,
    namespace_of,
)

LAB = Lab(
    name="one",
    mark="one_12345678",
    kind="roce",
    scenario="x.yaml",
    programs=(Program(name="zebra leaf:0", pid=7, started=9),),
    faults=(InjectedFault(number=1, kind="unlink", parts=("cable:1",), settings={"share": 0.5}),),
)


def test_a_record_survives_its_file() -> None:
    assert lab_from_json(json.loads(json.dumps(lab_to_json(LAB)))) == LAB


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


@given(json_values, st.sampled_from([*lab_to_json(LAB), "other"]))
def test_a_damaged_record_is_refused_and_never_a_traceback(value: object, key: str) -> None:
    for damaged in (value, {**lab_to_json(LAB), key: value}):
        with suppress(SpecError):
            assert isinstance(lab_from_json(damaged), Lab)


def test_a_program_takes_the_place_of_an_earlier_one_of_its_name() -> None:
    later = LAB.with_program(Program(name="zebra leaf:0", pid=8, started=10))
    assert later.programs == (Program(name="zebra leaf:0", pid=8, started=10),)


def test_labs_of_one_name_in_two_folders_have_different_marks() -> None:
    one, other = mark_of("a", "/x/a"), mark_of("a", "/y/a")
    assert one != other
    assert one == mark_of("a", "/x/a")


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?", fullmatch=True))
def test_the_namespaces_of_one_lab_never_begin_as_those_of_another(name: str) -> None:
    check_name(name)
    mine = namespace_of(mark_of("lab", "/x/lab"), "")
    if name != "lab":
        assert not namespace_of(mark_of(name, f"/x/{name}"), "leaf:3").startswith(mine)


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "A", "a_b", "a/b", "..", "a" * 25, "a\n", "\u0661"]
)
def test_names_that_are_no_safe_part_of_a_path_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match="--name"):
        check_name(name)


@given(st.text(max_size=60))
def test_every_file_name_gives_a_good_name(stem: str) -> None:
    assert check_name(default_name(stem))
