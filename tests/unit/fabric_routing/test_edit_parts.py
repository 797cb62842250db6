from __future__ import annotations

import numpy as np
import pytest
import small

from netloom.errors import SpecError
from netloom.fabric.edit import drain, fail, restore, slow
from netloom.fabric.graph import Fabric, LinkState
from netloom.fabric.names import find_vertex, link_name, vertex_name


def down(fabric: Fabric) -> set[str]:
    return {link_name(fabric, int(i)) for i in np.flatnonzero(fabric.link_state == LinkState.DOWN)}


@pytest.mark.parametrize(
    ("part", "ends"),
    [
        ("nic:3", ["gpu:3 nic:3", "nic:3 leaf:1"]),
        ("gpu:0", ["gpu:0 nic:0", "gpu:0 scale-up:0"]),
        ("node:1", ["gpu:2 scale-up:1", "gpu:3 scale-up:1", "gpu:2 nic:2", "gpu:3 nic:3",
                    "nic:2 leaf:0", "nic:3 leaf:1"]),
        ("spine:1", ["leaf:0 spine:1", "leaf:1 spine:1"]),
        ("leaf:0", ["leaf:0 spine:0", "leaf:0 spine:1", "nic:0 leaf:0", "nic:2 leaf:0"]),
        ("link:leaf:1-spine:0", ["leaf:1 spine:0"]),
        ("link:spine:0-leaf:1", ["leaf:1 spine:0"]),
        ("link:gpu:0-scale-up:0", ["gpu:0 scale-up:0"]),
    ],
)  # fmt: skip
def test_failing_a_part_takes_down_its_cables_both_ways(part: str, ends: list[str]) -> None:
    cables = [end.split() for end in ends]
    expected = {f"{a}->{b}" for a, b in cables} | {f"{b}->{a}" for a, b in cables}
    assert down(fail(small.rails(2, 2, num_spines=2), part)) == expected


def test_a_cable_is_two_links() -> None:
    failed = fail(small.leaf_spine(2, 1, 1, parallel=2), "cable:4")
    assert np.flatnonzero(failed.link_state == LinkState.DOWN).tolist() == [8, 9]


def test_a_link_names_all_parallel_cables() -> None:
    assert (
        fail(small.leaf_spine(1, 1, 1, parallel=3), "link:leaf:0-spine:0").link_state > 0
    ).sum() == 6


def test_an_edit_shares_what_it_does_not_change_and_leaves_the_old_fabric_alone() -> None:
    fabric = small.leaf_spine(2, 2, 1)
    failed = fail(fabric, "spine:0")
    assert failed.link_source is fabric.link_source
    assert failed.link_slowdown is fabric.link_slowdown
    assert (fabric.link_state == LinkState.UP).all()
    assert not failed.link_state.flags.writeable


def test_draining_leaves_a_link_down_that_was_down() -> None:
    fabric = drain(fail(small.leaf_spine(2, 2, 1), "link:leaf:0-spine:0"), "spine:0")
    assert down(fabric) == {"leaf:0->spine:0", "spine:0->leaf:0"}
    assert (fabric.link_state == LinkState.DRAINED).sum() == 2


def test_slowing_sets_the_factor_and_restoring_takes_it_away() -> None:
    fabric = slow(slow(small.leaf_spine(2, 2, 1), "spine:0", 2), "spine:0", 4)
    assert sorted(set(fabric.link_slowdown.tolist())) == [1, 4]
    assert (restore(fabric, "spine:0").link_slowdown == 1).all()


@pytest.mark.parametrize("factor", [0.5, 0, -1, float("nan"), float("inf")])
def test_a_slowdown_under_one_or_not_finite_is_refused(factor: float) -> None:
    with pytest.raises(SpecError, match=r"'spine:0': a slowdown is a finite number of 1 or more"):
        slow(small.leaf_spine(2, 2, 1), "spine:0", factor)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("spin:0", r"'spin:0': there is no part called 'spin'; did you mean 'spine:'\?"),
        ("banana:0", "write one of cable, link, node, gpu, nic, leaf, spine"),
        ("leaf:7", "'leaf:7': write leaf:0 to leaf:1"),
        ("leaf:" + "9" * 5000, "write leaf:0 to leaf:1"),
        ("cable:" + "9" * 5000, "does not exist; this fabric ends at cable:7"),
        ("core:0", "no part called 'core'"),
        ("scale-up:0", "there is no part called 'scale-up'"),
        ("leaf", "'leaf': write leaf:0 to leaf:1"),
        ("leaf:-1", "'leaf:-1': write leaf:0 to leaf:1"),
        ("node:9", "'node:9' does not exist; this fabric ends at node:1"),
        ("cable:x", "'cable:x': write a number after 'cable'"),
        ("cable:99", "this fabric ends at cable:7"),
        ("link:leaf:0", "name both ends, such as 'link:leaf:3-spine:0'"),
        ("link:leaf:0-leaf:1", "no cable joins the two; leaf:0 has cables to nic:0, spine:0"),
        ("link:leaf:0-spin:1", r"'spin:1': this network has no 'spin'; did you mean 'spine'"),
    ],
)
def test_a_part_that_does_not_exist_is_named_with_what_does(part: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fail(small.leaf_spine(2, 2, 1), part)


def test_every_vertex_is_found_by_its_name() -> None:
    fabric = small.rails(2, 2, num_spines=2)
    names = [vertex_name(fabric, vertex) for vertex in range(fabric.num_vertices)]
    assert len(set(names)) == len(names)
    assert [find_vertex(fabric, name) for name in names] == list(range(fabric.num_vertices))
