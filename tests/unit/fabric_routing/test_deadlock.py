from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import small

from netloom.fabric.deadlock import (
    check,
    check_adaptive,
    dependencies,
    find_cycle,
    loops,
    prove_by_tiers,
)
from netloom.fabric.names import find_vertex
from netloom.fabric.routing import dmodk, ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Paths

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric


def link(fabric: Fabric, source: str, target: str) -> int:
    ends = find_vertex(fabric, source), find_vertex(fabric, target)
    same = (fabric.link_source == ends[0]) & (fabric.link_target == ends[1])
    return int(np.flatnonzero(same)[0])


def by_hand(fabric: Fabric, *stops: str) -> Paths:
    """Paths written as the vertices they visit, separated by spaces."""
    paths = [
        [link(fabric, a, b) for a, b in zip(path.split(), path.split()[1:], strict=False)]
        for path in stops
    ]
    offsets = np.cumsum([0, *map(len, paths)])
    return Paths(offsets=offsets, links=np.array(list(chain(*paths)), dtype=np.int32))


def test_clockwise_routes_on_a_ring_deadlock() -> None:
    # The example of Dally and Seitz (1987): each switch sends to the one two steps on, so each
    # link is held by packets that wait for the next.
    ring = small.torus(4)
    stops = [f"leaf:{i} leaf:{(i + 1) % 4} leaf:{(i + 2) % 4}" for i in range(4)]
    verdict = check(ring, by_hand(ring, *stops))
    assert not verdict.free
    assert sorted(verdict.cycle) == [f"leaf:{i}->leaf:{(i + 1) % 4}" for i in range(4)]
    heads = [name.partition("->")[2] for name in verdict.cycle]
    tails = [name.partition("->")[0] for name in verdict.cycle]
    assert heads == tails[1:] + tails[:1]


def test_a_ring_cut_at_one_link_does_not_deadlock() -> None:
    ring = small.torus(4)
    stops = [f"leaf:{i} leaf:{i + 1} leaf:{(i + 2) % 4}" for i in range(3)]
    assert check(ring, by_hand(ring, *stops)).free


def test_paths_that_bounce_off_a_leaf_deadlock_on_a_clos() -> None:
    # Two reroutes around failures, each down and up again, hold what the other wants; see
    # Hu et al., "Tagger: Practical PFC Deadlock Prevention in Data Center Networks" (2017).
    fabric = small.leaf_spine(2, 2, 1)
    verdict = check(
        fabric,
        by_hand(fabric, "leaf:0 spine:0 leaf:1 spine:1", "leaf:1 spine:1 leaf:0 spine:0"),
    )
    assert not verdict.free
    assert "spine:0->leaf:1" in verdict.cycle
    assert len(verdict.cycle) == 4


def test_up_down_routes_never_deadlock_on_a_clos() -> None:
    for fabric in (small.fat_tree(4), small.leaf_spine(3, 2, 2), small.rails(2, 4, num_spines=2)):
        known, flows = tables(fabric), small.all_pairs(fabric)
        assert check(fabric, ecmp.paths(known, flows)).free
        assert check(fabric, dmodk.paths(known, flows)).free
        assert check_adaptive(known).free
        proof = prove_by_tiers(fabric)
        assert proof is not None
        assert proof.free


def test_adaptive_minimal_routes_deadlock_on_a_torus_with_one_lane() -> None:
    torus = small.torus(4, 4)
    assert prove_by_tiers(torus) is None
    verdict = check_adaptive(tables(torus))
    assert not verdict.free
    assert "wait for one another" in verdict.reason


def test_minimal_routes_between_dragonfly_groups_are_up_across_down() -> None:
    assert check_adaptive(tables(small.dragonfly_plus(4))).free


def test_one_path_depends_link_by_link_and_paths_do_not_run_into_one_another() -> None:
    fabric = small.leaf_spine(2, 1, 1)
    paths = by_hand(fabric, "nic:0 leaf:0 spine:0", "spine:0 leaf:1 nic:1")
    expected = [
        [link(fabric, "nic:0", "leaf:0"), link(fabric, "leaf:0", "spine:0")],
        [link(fabric, "spine:0", "leaf:1"), link(fabric, "leaf:1", "nic:1")],
    ]
    assert dependencies(fabric, paths).tolist() == sorted(expected)


def test_a_relay_takes_the_data_into_memory_and_holds_no_link() -> None:
    fabric = small.rails(2, 2, num_spines=0)
    paths = ecmp.paths(tables(fabric), small.flows([(0, 3)]))
    held = dependencies(fabric, paths)[:, 0]
    assert link(fabric, "scale-up:0", "gpu:1") not in held.tolist()


def test_no_paths_have_no_dependencies() -> None:
    fabric = small.leaf_spine(2, 1, 1)
    assert check(fabric, by_hand(fabric)).free
    assert len(loops(fabric, by_hand(fabric))) == 0


def test_a_path_that_comes_back_is_a_loop() -> None:
    ring = small.torus(3)
    paths = by_hand(ring, "leaf:0 leaf:1", "leaf:0 leaf:1 leaf:2 leaf:0", "leaf:1 leaf:2")
    assert loops(ring, paths).tolist() == [1]


def test_a_cycle_is_found_behind_a_tail_that_leads_to_it() -> None:
    # 1 -> 2 -> 3 -> 4 -> 2, and 4 -> 5: the cycle is 2 3 4, wherever it is entered.
    cycle = find_cycle(np.array([[1, 2], [2, 3], [3, 4], [4, 2], [4, 5]]))
    assert cycle is not None
    assert sorted(cycle) == [2, 3, 4]
