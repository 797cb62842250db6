from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.fabric.edit import fail
from netloom.fabric.names import find_vertex, link_name
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.spread import load_bps

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric


def loads(fabric: Fabric, pairs: list[tuple[int, int]], *, pxn: bool = False) -> dict[str, float]:
    carried = load_bps(tables(fabric), small.flows(pairs), np.full(len(pairs), 1.0), pxn=pxn)
    return {link_name(fabric, int(link)): carried[link] for link in np.flatnonzero(carried)}


def test_a_flow_is_halved_at_each_tier_and_joined_on_the_way_down() -> None:
    # Host 0 to host 4, in the next pod of a 4-port fat tree: 2 spines, 2 cores each.
    got = loads(small.fat_tree(4), [(0, 4)])
    assert got["leaf:0->spine:0"] == got["leaf:0->spine:1"] == 0.5
    assert [got[f"spine:{core // 2}->core:{core}"] for core in range(4)] == [0.25] * 4
    assert got["core:0->spine:2"] == 0.25
    assert got["spine:2->leaf:2"] == 0.5
    assert got["leaf:2->nic:4"] == got["nic:4->gpu:4"] == 1.0
    # 2 + 2 host links at 1; 2 + 2 leaf-spine links at 1/2; 4 + 4 core links at 1/4.
    assert sum(got.values()) == pytest.approx(4 + 4 * 0.5 + 8 * 0.25)


def test_an_even_exchange_loads_every_uplink_of_a_non_blocking_fabric_alike() -> None:
    # Each of 16 hosts sends 1 in all, evenly to the 15 others; of a leaf's 2 hosts' traffic
    # 2 * 14/15 leaves the leaf, over 2 spines.
    fabric = small.fat_tree(4)
    flows = small.all_pairs(fabric)
    carried = load_bps(tables(fabric), flows, np.full(len(flows), 1 / 15))
    tier = fabric.vertex_tier
    up = (tier[fabric.link_source] == 1) & (tier[fabric.link_target] == 2)
    assert carried[up] == pytest.approx(np.full(up.sum(), 14 / 15))


def test_planes_share_a_flow() -> None:
    got = loads(small.two_planes(2), [(0, 1)])
    assert got == {
        f"{a}->{b}": 0.5
        for a, b in [
            ("gpu:0", "nic:0"), ("nic:0", "leaf:0"), ("leaf:0", "nic:2"), ("nic:2", "gpu:1"),
            ("gpu:0", "nic:1"), ("nic:1", "leaf:1"), ("leaf:1", "nic:3"), ("nic:3", "gpu:1"),
        ]
    }  # fmt: skip


def test_a_failed_link_shifts_the_load_to_what_is_left() -> None:
    got = loads(fail(small.leaf_spine(2, 3, 1), "spine:1"), [(0, 1)])
    assert got["leaf:0->spine:0"] == got["leaf:0->spine:2"] == 0.5


def test_relayed_data_loads_the_scale_up_links() -> None:
    got = loads(small.rails(2, 2, num_spines=1), [(0, 3), (0, 1)], pxn=True)
    assert got["gpu:0->scale-up:0"] == 2.0
    assert got["gpu:1->nic:1"] == 1.0


@pytest.mark.parametrize("fabric", [small.torus(4, 4), small.dragonfly_plus(4)])
def test_switches_pass_on_all_they_get(fabric: Fabric) -> None:
    flows = small.all_pairs(fabric)
    carried = load_bps(tables(fabric), flows, np.ones(len(flows)))
    into = np.bincount(fabric.link_target, carried, minlength=fabric.num_vertices)
    out = np.bincount(fabric.link_source, carried, minlength=fabric.num_vertices)
    first = find_vertex(fabric, "leaf:0")
    assert into[first:] == pytest.approx(out[first:])
