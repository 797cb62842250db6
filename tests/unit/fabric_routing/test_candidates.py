from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.edit import drain, fail, slow
from netloom.fabric.graph import LinkState
from netloom.fabric.names import find_vertex, link_name
from netloom.fabric.routing.candidates import candidates, tables

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric


def names(fabric: Fabric, at: str, to: str) -> list[str]:
    found = candidates(tables(fabric), find_vertex(fabric, at), find_vertex(fabric, to))
    assert found.tolist() == sorted(set(found.tolist()))
    return [link_name(fabric, int(link)).partition("->")[2] for link in found]


def test_a_leaf_sends_up_to_every_spine_and_a_spine_straight_down() -> None:
    fabric = small.leaf_spine(3, 2, 2)
    assert names(fabric, "leaf:0", "nic:5") == ["spine:0", "spine:1"]
    assert names(fabric, "spine:1", "nic:5") == ["leaf:2"]
    assert names(fabric, "leaf:2", "nic:5") == ["nic:5"]


def test_a_gpu_is_reached_through_its_nic() -> None:
    assert names(small.leaf_spine(3, 2, 2), "leaf:0", "gpu:5") == ["spine:0", "spine:1"]


def test_a_gpu_with_a_port_in_each_plane_is_reached_in_the_plane_of_the_switch() -> None:
    fabric = small.two_planes(3)
    assert names(fabric, "leaf:0", "gpu:2") == ["nic:4"]
    assert names(fabric, "leaf:1", "gpu:2") == ["nic:5"]


def test_parallel_cables_are_candidates_each() -> None:
    assert names(small.leaf_spine(2, 1, 1, parallel=3), "spine:0", "nic:1") == ["leaf:1"] * 3


def test_traffic_within_a_pod_does_not_climb_to_the_cores() -> None:
    fabric = small.fat_tree(4)  # pod 0: leaves and spines 0 and 1, hosts 0 to 3
    assert names(fabric, "spine:0", "nic:2") == ["leaf:1"]
    assert names(fabric, "spine:0", "nic:4") == ["core:0", "core:1"]


def test_a_core_sends_down_into_the_pod_of_the_destination() -> None:
    # Spine 0 of each pod has cores 0 and 1; host 4 is in pod 1, whose spines are 2 and 3.
    assert names(small.fat_tree(4), "core:1", "nic:4") == ["spine:2"]


def test_a_leaf_avoids_the_spine_that_lost_its_link_to_the_destination() -> None:
    fabric = fail(small.leaf_spine(3, 2, 1), "link:leaf:2-spine:0")
    assert names(fabric, "leaf:0", "nic:2") == ["spine:1"]
    assert names(fabric, "leaf:0", "nic:1") == ["spine:0", "spine:1"]


def test_a_leaf_avoids_a_spine_whose_cores_all_lost_the_pod_of_the_destination() -> None:
    # Host 4 is in pod 1; spine 2 is its way to cores 0 and 1, so without spine 2 only
    # spine 1 of pod 0 (cores 2 and 3) still leads there.
    fabric = fail(small.fat_tree(4), "spine:2")
    assert names(fabric, "leaf:0", "nic:4") == ["spine:1"]
    assert names(fabric, "leaf:0", "nic:8") == ["spine:0", "spine:1"]


def test_a_way_over_one_more_tier_is_no_candidate_beside_a_shorter_one() -> None:
    # Spine 1 lost leaf 1, but could still climb to the core and come down over spine 0.
    fabric = fail(small.joined_spines(2, 2, 1, 1), "link:leaf:1-spine:1")
    assert names(fabric, "leaf:0", "nic:1") == ["spine:0"]
    assert names(fabric, "spine:1", "nic:1") == ["core:0"]


def test_a_cable_that_works_one_way_only_is_not_used_in_either() -> None:
    fabric = small.leaf_spine(2, 2, 1)
    state = fabric.link_state.copy()
    cable = fail(fabric, "link:leaf:1-spine:0").link_state == LinkState.DOWN
    state[np.flatnonzero(cable)[0]] = LinkState.DOWN  # leaf to spine; spine to leaf stays up
    assert names(replace(fabric, link_state=state), "leaf:0", "nic:1") == ["spine:1"]


def test_draining_avoids_a_spine_and_slowing_does_not() -> None:
    fabric = small.leaf_spine(2, 2, 1)
    assert names(drain(fabric, "spine:0"), "leaf:0", "nic:1") == ["spine:1"]
    assert names(slow(fabric, "spine:0", 4), "leaf:0", "nic:1") == ["spine:0", "spine:1"]


def test_a_switch_that_is_cut_off_is_named_with_the_destination() -> None:
    fabric = fail(fail(small.leaf_spine(2, 2, 1), "spine:0"), "spine:1")
    with pytest.raises(InfeasibleError, match=r"leaf:0 to nic:1: no path is left"):
        names(fabric, "leaf:0", "nic:1")


def test_a_path_that_would_turn_up_again_is_no_path() -> None:
    # Leaf 0 keeps spine 0 only, leaf 2 spine 1 only; leaf 1 could hand over between them, but
    # only by sending up what came down.
    fabric = fail(small.leaf_spine(3, 2, 1), "link:leaf:0-spine:1")
    fabric = fail(fabric, "link:leaf:2-spine:0")
    with pytest.raises(InfeasibleError, match="leaf:0 to nic:2"):
        names(fabric, "leaf:0", "nic:2")
    assert names(fabric, "leaf:0", "nic:1") == ["spine:0"]


def test_a_torus_offers_every_shortest_way() -> None:
    # 4 x 4, switches numbered row by row: from 0, switch 5 is one step in each dimension, and
    # switch 2 two steps along the row either way round.
    fabric = small.torus(4, 4)
    assert names(fabric, "leaf:0", "nic:5") == ["leaf:4", "leaf:1"]
    assert sorted(names(fabric, "leaf:0", "nic:2")) == ["leaf:1", "leaf:3"]
    assert names(fabric, "leaf:0", "nic:1") == ["leaf:1"]


def test_dragonfly_groups_are_crossed_over_their_one_global_cable() -> None:
    # Groups 0 and 1 are joined by their spines number (0 + 1) mod 2 = 1: spine:1 and spine:3.
    fabric = small.dragonfly_plus(4)
    assert names(fabric, "leaf:0", "nic:2") == ["spine:1"]
    assert names(fabric, "spine:1", "nic:2") == ["spine:3"]
    assert names(fabric, "spine:3", "nic:2") == ["leaf:2"]


def test_candidates_start_at_a_switch() -> None:
    with pytest.raises(SpecError, match="from a switch to a NIC port or a GPU"):
        names(small.leaf_spine(2, 1, 1), "gpu:0", "nic:1")
