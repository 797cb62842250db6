"""Parts of a network as values, and their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.fabric.part_id import Direction, PartId

ENDS = ("leaf:3", "spine:0")


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (PartId.cable(40), "cable:40"),
        (PartId("cable", 40, ends=ENDS), "cable:40 (leaf:3 - spine:0)"),
        (PartId("cable", 40, Direction.UP, ends=ENDS), "cable:40 (leaf:3->spine:0)"),
        (PartId("cable", 40, Direction.DOWN, ends=ENDS), "cable:40 (spine:0->leaf:3)"),
        (PartId("leaf", 3), "leaf:3"),
        (PartId("scale-up", 0), "scale-up:0"),
        (PartId.node(7), "node:7"),
        (PartId.manager(1, 0), "opensm-1.0"),
        (PartId("subnet", 2), "subnet 2"),
        (PartId("subnet", -1), "subnet"),
    ],
)
def test_a_part_is_written_as_it_always_was_and_read_back_whole(part: PartId, text: str) -> None:
    assert str(part) == text
    assert PartId.parse(text) == part.whole


def test_the_names_of_its_ends_do_not_tell_a_part_from_another_and_its_direction_does() -> None:
    told = PartId("cable", 40, ends=ENDS)
    up, down = (PartId("cable", 40, way, ends=ENDS) for way in (Direction.UP, Direction.DOWN))
    assert told == PartId.cable(40)
    assert hash(told) == hash(PartId.cable(40))
    assert len({told, up, down}) == 3
    assert {one.whole for one in (told, up, down)} == {PartId.cable(40)}


def test_managers_of_two_subnets_are_two_parts() -> None:
    assert PartId.manager(0, 1) != PartId.manager(1, 1)
    assert PartId.manager(0, 1).whole == PartId.manager(0, 1)


def test_parts_are_ordered_by_number_and_not_by_text() -> None:
    parts = [PartId.cable(10), PartId("leaf", 0), PartId.cable(9)]
    assert [str(part) for part in sorted(parts)] == ["cable:9", "cable:10", "leaf:0"]


@pytest.mark.parametrize(
    "text", ["", "leaf", "leaf:", "leaf:x", "x[1]", "leaf:3[4]", "opensm-1", "a b:1"]
)
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="is not the name of a part; names are like cable:40"):
        PartId.parse(text)


@given(st.text(max_size=30))
def test_reading_ends_in_a_part_or_in_a_refusal(text: str) -> None:
    try:
        part = PartId.parse(text)
    except SpecError:
        return
    assert PartId.parse(str(part)) == part
