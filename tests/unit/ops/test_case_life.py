"""Cases: opened once, closed when nothing is seen any more, kept and bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.fabric.part_id import PartId
from netloom.ops.observe.cases import (
    MAX_OPEN,
    MISSES_TO_CLOSE,
    Case,
    case_history,
    follow_cases,
    open_cases,
    write_cases,
)
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.retention import RetentionLimits, retain
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObservationStore]:
    with ObservationStore(tmp_path / "watch.db") as made:
        yield made


def case(part: str = "cable:1 (a - b)", **more: object) -> Case:
    given = {
        "part": PartId.parse(part),
        "label": part,
        "kind": "loss",
        "confidence": 0.9,
        "magnitude": 1.0,
        "evidence": ("x",),
        "hurts": 0,
        "opened_s": START_S,
        "seen_s": START_S,
    }
    return Case(**{**given, **more})  # type: ignore[arg-type]


def test_a_case_that_another_finding_explains_closes_though_not_all_is_seen() -> None:
    change = follow_cases((), [case()], START_S, may_close=True)
    for _ in range(MISSES_TO_CLOSE):
        change = follow_cases(change.cases, [], START_S, may_close=False, explained=[case().part])
    assert change.cases == ()
    assert len(change.closed) == 1


def test_a_case_is_opened_once_and_closed_after_three_rounds_without_it(
    store: ObservationStore,
) -> None:
    change = follow_cases((), [case()], START_S, may_close=True)
    assert change.opened == change.cases
    write_cases(store, change)
    again = case(confidence=0.95, seen_s=START_S + 10, opened_s=START_S + 10)
    change = follow_cases(open_cases(store), [again], START_S + 10, may_close=True)
    write_cases(store, change)
    (kept,) = open_cases(store)
    assert (change.opened, kept.opened_s, kept.seen_s) == ((), START_S, START_S + 10)
    now_s = START_S + 10
    for _ in range(MISSES_TO_CLOSE):
        assert len(open_cases(store)) == 1
        now_s += 10
        change = follow_cases(open_cases(store), [], now_s, may_close=True)
        write_cases(store, change)
    assert open_cases(store) == ()
    (one,) = case_history(store, START_S)
    assert (one.closed_s, one.opened_s) == (now_s, START_S)


WORSE = {"flapping": "missing cable"}


def test_a_cable_that_is_down_at_some_looks_and_flaps_at_others_is_one_case() -> None:
    """Down for two looks, up for five, and so on: it is never opened twice, nor closed."""
    cases: tuple[Case, ...] = ()
    opened = closed = 0
    for kind in (*["missing cable"] * 2, *["flapping"] * 5) * 3:
        change = follow_cases(cases, [case(kind=kind)], START_S, may_close=True, worse=WORSE)
        cases, opened, closed = (
            change.cases,
            opened + len(change.opened),
            closed + len(change.closed),
        )
    assert ([one.kind for one in cases], opened, closed) == (["missing cable"], 1, 0)
    for _ in range(MISSES_TO_CLOSE):  # neither is found any more
        change = follow_cases(cases, [], START_S, may_close=True, worse=WORSE)
        cases, closed = change.cases, closed + len(change.closed)
    assert (cases, closed) == ((), 1)


def test_a_cable_that_flapped_and_then_stays_down_is_one_case_of_the_worse_kind() -> None:
    before = follow_cases((), [case(kind="flapping")], START_S, may_close=True, worse=WORSE)
    assert [one.kind for one in before.cases] == ["flapping"]
    down = [case(kind="missing cable")]
    change = follow_cases(before.cases, down, START_S + 1, may_close=False, worse=WORSE)
    assert [one.kind for one in change.cases] == ["missing cable"]
    assert [one.kind for one in change.closed] == ["flapping"]


def test_what_is_not_seen_is_not_over() -> None:
    cases: tuple[Case, ...] = (case(),)
    for _ in range(9):
        cases = follow_cases(cases, [], START_S, may_close=False).cases
    assert len(cases) == 1


def test_rounds_that_did_not_see_all_count_for_nothing() -> None:
    """Two misses, then nine rounds that saw too little: the third miss is the tenth round."""
    cases: tuple[Case, ...] = (case(),)
    for sees_all in (True, True, *(False,) * 9):
        cases = follow_cases(cases, [], START_S, may_close=sees_all).cases
    assert [one.num_missed for one in cases] == [2]
    change = follow_cases(cases, [], START_S + 110, may_close=True)
    assert (change.cases, [one.closed_s for one in change.closed]) == ((), [START_S + 110])


def test_a_case_that_is_due_waits_for_a_round_that_sees_all() -> None:
    due = (case(num_missed=MISSES_TO_CLOSE - 1),)
    assert follow_cases(due, [], START_S, may_close=False).closed == ()
    assert len(follow_cases(due, [], START_S, may_close=True).closed) == 1


def test_the_direction_in_a_name_makes_no_second_case() -> None:
    before = follow_cases((), [case("cable:1 (a - b)")], START_S, may_close=True).cases
    change = follow_cases(before, [case("cable:1 (a->b)")], START_S, may_close=True)
    assert (len(change.cases), change.opened) == (1, ())


def test_subnets_are_parts_of_their_own_and_directions_are_not() -> None:
    found = [
        case("subnet 0"),
        case("subnet 1"),
        case("cable:1 (b->a)", confidence=0.99),
        case("cable:1 (a->b)", confidence=0.6),
    ]
    cases = follow_cases((), found, START_S, may_close=True).cases
    assert [one.label for one in cases] == ["cable:1 (b->a)", "subnet 0", "subnet 1"]


def test_writing_the_same_change_twice_makes_no_double(store: ObservationStore) -> None:
    change = follow_cases((), [case()], START_S, may_close=True)
    for _ in range(2):
        write_cases(store, change)
    assert store.num_rows()["finding"] == 1


def test_cases_are_bounded_and_old_ones_go(store: ObservationStore) -> None:
    many = [case(f"cable:{number}") for number in range(MAX_OPEN + 50)]
    change = follow_cases((), many, START_S, may_close=True)
    assert (len(change.cases), change.num_left_out) == (MAX_OPEN, 50)
    for _ in range(MISSES_TO_CLOSE):
        write_cases(store, change)
        change = follow_cases(change.cases, [], START_S, may_close=True)
    write_cases(store, change)
    assert store.num_rows()["finding"] == MAX_OPEN
    retain(store, START_S + 2e6, RetentionLimits(window_s=1e6))
    assert store.num_rows()["finding"] == 0


def test_a_store_of_the_version_before_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with ObservationStore(path) as store:
        seen = (Observation(START_S, "leaf:1", "rib_ways", 3.0),)
        store.add(Reading(source="routers", time_s=START_S, observations=seen))
        store.connection.executescript("DROP TABLE finding; PRAGMA user_version = 1;")
    with ObservationStore(path) as store:
        assert store.num_rows() | {"finding": 0} == store.num_rows()
        assert [value for *_, value in store.latest()] == [3.0]
