"""Which measured rows vouch for a collective, and what is said where none do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netloom.validated.collectives import (
    CollectiveGroup,
    CollectivePoint,
    collective_groups,
    group_doubt,
)

MIB = 2.0**20
ONE = CollectiveGroup(
    collective="all_reduce",
    machine="one",
    node="dgx-h100",
    scale_up="nvswitch3",
    technology="infiniband-ndr",
    family="InfiniBand",
    min_nodes=2,
    max_nodes=8,
    min_bytes=16 * MIB,
    max_bytes=256 * MIB,
    rows=4,
    median_error_pct=10.0,
    quantiles_pct=(-10.0, -5.0, 0.0, 5.0, 10.0),
    far_rows=0,
    bound_pct=20.0,
)
OTHER = replace(ONE, machine="other", node="dgx-a100", scale_up="nvswitch2")
POINT = CollectivePoint(
    collective="all_reduce",
    node="dgx-h100",
    scale_up="nvswitch3",
    family="InfiniBand",
    num_nodes=4,
    size_bytes=64 * MIB,
)


def test_two_machines_within_their_bound_vouch_for_what_is_near() -> None:
    assert group_doubt(POINT, (ONE, OTHER)) == ""


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (replace(POINT, collective="all_to_all"), "was not compared with a measurement; nearest"),
        (replace(POINT, family="RoCE"), "was not compared"),
        (replace(POINT, size_bytes=256 * MIB), "was not compared"),
        (replace(POINT, num_nodes=1), "was not compared"),
        (replace(POINT, num_nodes=17), "was not compared"),  # more than twice the eight measured
        (replace(POINT, scale_up="nvl72"), "was not compared"),
    ],
)
def test_what_is_measured_elsewhere_vouches_for_nothing_here(
    point: CollectivePoint, words: str
) -> None:
    assert words in group_doubt(point, (ONE, OTHER))


def test_twice_the_nodes_are_near() -> None:
    assert group_doubt(replace(POINT, num_nodes=16), (ONE, OTHER)) == ""


def test_one_machine_vouches_only_for_its_own_kind() -> None:
    assert "on one machine only" in group_doubt(POINT, (ONE,))
    shape = replace(ONE, node="aws-p5", family="EFA")
    asked = replace(POINT, node="aws-p5", family="EFA")
    assert group_doubt(asked, (shape,)) == ""
    assert "on one machine only" in group_doubt(replace(asked, node="aws-p4d"), (shape,))


def test_the_own_kind_of_machine_counts_before_all_others() -> None:
    shape = replace(ONE, node="aws-p5", median_error_pct=25.0)
    good = (replace(OTHER, machine=name, rows=20) for name in ("b", "c"))
    asked = replace(POINT, node="aws-p5")
    assert "25 % off where it was measured, over its bound of 20 %" in group_doubt(
        asked, (shape, *good)
    )


@pytest.mark.parametrize(
    ("group", "words"),
    [
        # four rows of 10 % and five of 30 %: the fifth of nine is 30 %
        (replace(OTHER, rows=5, median_error_pct=30.0), "is 30 % off where it was measured"),
        (replace(OTHER, rows=3, median_error_pct=61.0), "is 61 % off on other"),
        (replace(OTHER, far_rows=1), "is over 50 % off in 1 of 8 rows"),
    ],
)
def test_groups_over_their_bound_vouch_for_nothing(group: CollectiveGroup, words: str) -> None:
    assert words in group_doubt(POINT, (ONE, group))


def test_two_rows_are_too_few() -> None:
    few = (replace(ONE, rows=1), replace(OTHER, rows=1))
    assert "was measured in 2 rows only" in group_doubt(POINT, few)


def test_what_is_nearest_has_the_same_collective_then_the_same_network() -> None:
    roce = replace(ONE, family="RoCE", machine="roce")
    other = replace(ONE, collective="broadcast", machine="broadcast")
    far = replace(ONE, min_bytes=MIB, max_bytes=16 * MIB, machine="small")
    assert "of small, 10 % off" in group_doubt(POINT, (roce, other, far))


def test_the_answer_is_the_same_throughout_a_band() -> None:
    low, high = (replace(POINT, size_bytes=size) for size in (16 * MIB, 256 * MIB - 1))
    assert group_doubt(low) == group_doubt(high)
    assert group_doubt(replace(POINT, size_bytes=256 * MIB)) != group_doubt(high)


def test_the_shipped_groups_are_of_many_machines_and_every_band() -> None:
    groups = collective_groups()
    assert len({group.machine for group in groups}) > 20
    assert len({group.min_bytes for group in groups}) == 6
