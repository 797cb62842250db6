from __future__ import annotations

import numpy as np
import small

from netloom.fabric.alike import cable_colours, node_colours, vertex_colours
from netloom.fabric.cut_off import cut_off, without_port
from netloom.fabric.edit import fail, slow
from netloom.fabric.graph import Fabric, VertexKind
from netloom.fabric.names import find_vertex


def num_colours(fabric: Fabric, tier: int) -> int:
    chosen = (fabric.vertex_kind == VertexKind.SWITCH) & (fabric.vertex_tier == tier)
    return len(np.unique(vertex_colours(fabric)[chosen]))


def test_the_switches_of_each_tier_of_a_fat_tree_look_alike() -> None:
    fabric = small.fat_tree(4)
    assert [num_colours(fabric, tier) for tier in (1, 2, 3)] == [1, 1, 1]
    assert len(np.unique(node_colours(fabric, vertex_colours(fabric)))) == 1
    # GPU to NIC, NIC to leaf, leaf to spine, spine to core.
    assert len(np.unique(cable_colours(fabric, vertex_colours(fabric)))) == 4


def test_a_slow_spine_looks_like_no_other() -> None:
    assert num_colours(slow(small.leaf_spine(3, 4, 2), "spine:1", 2), 2) == 2


def test_a_ring_makes_gpus_alike_and_a_chain_does_not() -> None:
    fabric = small.leaf_spine(1, 1, 4)
    gpu = np.arange(4)
    ring = vertex_colours(fabric, pairs=[(gpu, np.roll(gpu, -1))])
    chain = vertex_colours(fabric, pairs=[(gpu[:-1], gpu[1:])])
    assert len(np.unique(ring[:4])) == 1
    assert len(np.unique(chain[:4])) == 4


def test_links_that_carry_more_are_told_apart() -> None:
    fabric = small.leaf_spine(2, 2, 2)
    load = np.zeros(fabric.num_links)
    load[fabric.link_source == find_vertex(fabric, "leaf:1")] = 1.0
    colour = vertex_colours(fabric, [load])
    leaves = [find_vertex(fabric, f"leaf:{n}") for n in (0, 1)]
    assert colour[leaves[0]] != colour[leaves[1]]


def test_who_hangs_on_a_lost_leaf_is_cut_off() -> None:
    whole = small.leaf_spine(3, 2, 2)
    broken = fail(whole, "leaf:1")
    assert without_port(broken, whole).tolist() == [2, 3]
    assert cut_off(broken, whole).tolist() == [2, 3]


def test_of_leaves_without_spines_all_but_the_first_are_cut_off() -> None:
    whole = small.leaf_spine(3, 1, 2)
    broken = fail(whole, "spine:0")
    assert without_port(broken, whole).tolist() == []
    assert cut_off(broken, whole).tolist() == [2, 3, 4, 5]


def test_one_of_two_planes_is_enough() -> None:
    whole = small.two_planes(3)
    assert cut_off(fail(whole, "leaf:0"), whole).tolist() == []
    assert cut_off(whole, whole).tolist() == []
