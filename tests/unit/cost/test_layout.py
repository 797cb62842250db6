"""Racks on a floor and the lengths of the cables between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from cost_parts import RATE_BPS, node, rail_fat_tree, rail_only, switch
from hypothesis import given
from hypothesis import strategies as st

from netloom.fabric.cost.hall import Hall
from netloom.fabric.cost.layout import lay_out, nodes_per_rack
from netloom.fabric.design import Design, Reach, Stage, Tier
from netloom.fabric.size import design
from netloom.fabric.topologies.dragonfly_plus import DragonflyPlus
from netloom.fabric.topologies.entry import topology_entry
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.request import Request
from netloom.fabric.topologies.torus import Torus
from netloom.spec.scenario import Floor

if TYPE_CHECKING:
    from netloom.spec.topology import Topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

floors = st.builds(
    Floor.model_validate,
    st.fixed_dictionaries(
        {
            "nodes_per_rack": st.integers(1, 16),
            "racks_per_row": st.integers(1, 40),
            "rack_width": st.sampled_from(["0.6m", "0.75m", "1.2m"]),
            "row_pitch": st.sampled_from(["2.4m", "3m", "5.5m"]),
            "slack": st.sampled_from(["0m", "2m", "3.5m"]),
        }
    ),
)


def one_tier(topology: Topology, *, num_switches: int, nodes_each: int, sideways: int) -> Design:
    stages = [Stage(lower="node", upper="leaf", num_cables=1, rate_bps=RATE_BPS)]
    if sideways:
        stages.append(Stage(lower="leaf", upper="leaf", num_cables=sideways, rate_bps=RATE_BPS))
    num_nodes = num_switches * nodes_each
    return Design(
        topology=topology,
        num_nodes=num_nodes,
        num_gpus=num_nodes,
        num_rails=1,
        num_planes=1,
        num_ports=num_nodes,
        port_rate_bps=RATE_BPS,
        switch=switch(),
        radix=64,
        tiers=(Tier(name="leaf", num_switches=num_switches, num_down=nodes_each, num_up=0),),
        stages=tuple(stages),
        reaches=(
            Reach(
                tier="leaf",
                num_nodes=nodes_each,
                num_hops=1,
                num_paths=1,
                num_links=0,
                num_switches=0,
                taper=1,
            ),
        ),
    )


def test_a_scalable_unit_is_cabled_within_one_row() -> None:
    # 32 nodes at 4 a rack are 8 racks; the 8 leaves share one rack in their middle. The farthest
    # node rack is 4 places of 0.6 m away: 2.4 m, and 2 m of slack at each end: 6.4 m, so 7.
    layout = lay_out(rail_fat_tree(32), Floor(), per_rack=4)
    assert (layout.num_node_racks, layout.num_network_racks) == (8, 2)
    assert layout.routes[0].longest_m in (7, 8)  # 8 where the spines' rack stands in between


def test_the_127_node_superpod_takes_the_racks_that_nvidia_lists() -> None:
    # RA-11333-001 V11, table 7: 38 racks with management and storage; 32 + 4 + 1 without.
    layout = lay_out(rail_fat_tree(127), Floor(), per_rack=4)
    assert (layout.num_node_racks, layout.num_network_racks) == (32, 5)


def test_a_leaf_that_serves_one_rack_stands_in_it() -> None:
    # 4 nodes a leaf and 4 a rack: every host cable is one slack long and nothing else stands there.
    layout = lay_out(
        one_tier(Torus(), num_switches=27, nodes_each=4, sideways=81), Floor(), per_rack=4
    )
    assert layout.num_network_racks == 0
    assert layout.routes[0].longest_m == 2
    assert layout.routes[0].over_tray.sum() == 0


def test_cables_of_a_torus_join_neighbours_and_wrap_around() -> None:
    # A ring of 3 racks in one row: 0-1 and 1-2 are 0.6 m apart, 2-0 is 1.2 m; with 4 m of slack
    # 4.6, 4.6 and 5.2 m, rounded up to 5, 5 and 6.
    ring = one_tier(Torus(dimensions=(3,)), num_switches=3, nodes_each=4, sideways=3)
    sideways = lay_out(ring, Floor(), per_rack=4).routes[1]
    assert sideways.over_tray[5] == pytest.approx(2)
    assert sideways.over_tray[6] == pytest.approx(1)


@pytest.mark.parametrize("num_nodes", [72, 144, 300, 400, 588])
def test_cables_of_a_torus_are_as_long_as_those_its_builder_lays(num_nodes: int) -> None:
    # 4 nodes of 8 NICs on each switch of 64 ports, and boxes that the builder makes from its own
    # rule: 3 x 3 x 2, 4 x 3 x 3, 5 x 4 x 4 (5 switches idle), 5 x 5 x 4, 6 x 5 x 5 (3 idle).
    torus = design(
        topology=Torus(), num_nodes=num_nodes, node=node(), switch=switch(), nic_rate_bps=400e9
    )
    sideways = lay_out(torus, Floor(), per_rack=4).routes[1]
    wiring = topology_entry(torus.topology).wire(Request.of_design(torus), torus.topology)
    slot = np.arange(torus.num_switches) * -(-num_nodes // 4) // torus.num_switches
    hall = Hall.of(-(-num_nodes // 4), Floor())
    metres = np.ceil(hall.length_m(slot[wiring.lower], slot[wiring.upper]) - 1e-9)
    built = np.bincount(metres.astype(np.int64), minlength=len(sideways.over_tray))
    assert (sideways.in_rack + sideways.over_tray).tolist() == pytest.approx(built.tolist())


def test_a_kind_that_says_nothing_of_its_sideways_cables_is_refused_at_once() -> None:
    tree = one_tier(FatTree(), num_switches=3, nodes_each=4, sideways=3)
    with pytest.raises(AssertionError, match="fat-tree gives no pairs"):
        lay_out(tree, Floor(), per_rack=4)


def test_cables_between_groups_join_all_pairs_of_groups() -> None:
    # Three groups in a row of racks: distances 1, 1 and 2 racks, as in the ring above.
    groups = one_tier(DragonflyPlus(), num_switches=3, nodes_each=4, sideways=3)
    sideways = lay_out(groups, Floor(), per_rack=4).routes[1]
    assert sideways.over_tray[5] == pytest.approx(2)
    assert sideways.over_tray[6] == pytest.approx(1)


def test_a_node_that_is_a_rack_is_not_stacked() -> None:
    assert nodes_per_rack(Floor(), node(power="10.2kW")) == 4
    assert nodes_per_rack(Floor(), node(power="132kW")) == 1
    assert nodes_per_rack(Floor(), node(power="600kW")) == 1


def test_a_hall_is_about_square() -> None:
    hall = Hall.of(35_000, Floor())
    assert hall.num_columns % 2 == 1
    assert 0.7 < hall.width_m / hall.depth_m < 1.4


def test_neighbours_in_the_numbering_are_neighbours_on_the_floor() -> None:
    # Along a row one rack apart, at its end one row; between columns at most a row and an aisle.
    hall = Hall.of(5_000, Floor())
    racks = np.arange(4_999)
    apart = hall.length_m(racks, racks + 1) - 2 * hall.floor.slack_m
    column_m = hall.floor.racks_per_row * hall.floor.rack_width_m + hall.floor.row_pitch_m
    assert apart.max() <= column_m + hall.floor.racks_per_row * hall.floor.rack_width_m
    assert (apart <= hall.floor.row_pitch_m + 1e-9).mean() > 0.99


@given(floors, st.integers(2, 3_000), st.data())
def test_cable_lengths_obey_the_triangle_inequality_of_the_hall(
    floor: Floor, num_racks: int, data: st.DataObject
) -> None:
    hall = Hall.of(num_racks, floor)
    rack = st.integers(0, num_racks - 1)
    one, two, three = (np.array([data.draw(rack)]) for _ in range(3))
    direct = hall.length_m(one, three)[0]
    detour = hall.length_m(one, two)[0] + hall.length_m(two, three)[0]
    assert direct <= detour + 1e-9
    assert floor.slack_m <= direct <= hall.width_m + hall.depth_m + 2 * floor.slack_m


@given(floors, st.integers(1, 700))
def test_every_cable_has_a_length_inside_the_hall(floor: Floor, num_nodes: int) -> None:
    design = rail_fat_tree(num_nodes)
    layout = lay_out(design, floor, per_rack=floor.nodes_per_rack)
    bound_m = layout.hall.width_m + layout.hall.depth_m + 2 * floor.slack_m
    for route, stage in zip(layout.routes, design.stages, strict=True):
        assert (route.in_rack + route.over_tray).sum() == pytest.approx(stage.num_cables)
        assert floor.slack_m <= route.mean_m + 1e-9 <= route.longest_m + 1 <= bound_m + 2


def test_a_million_gpus_are_laid_out_rack_by_rack_and_not_cable_by_cable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured: list[int] = []
    length_m = Hall.length_m

    def count(hall: Hall, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        measured.append(len(one))
        return length_m(hall, one, other)

    monkeypatch.setattr(Hall, "length_m", count)
    layout = lay_out(rail_fat_tree(131_072, radix=256), Floor(), per_rack=4)
    # Each node once, its NICs stand together. 16 switches a rack: 1,024 leaf racks to the 8 spine
    # racks of their pod, 512 spine racks to all 256 core racks.
    assert sum(measured) == 131_072 + 1_024 * 8 + 512 * 256
    assert [round((r.in_rack + r.over_tray).sum()) for r in layout.routes] == [1_048_576] * 3


def test_sparse_measuring_of_a_large_tier_changes_little(monkeypatch: pytest.MonkeyPatch) -> None:
    design = rail_only(4_096, radix=128, num_rails=8)
    exact = lay_out(design, Floor(), per_rack=4).routes[1].mean_m
    monkeypatch.setattr("netloom.fabric.cost.layout.MAX_PARTNERS", 4)
    assert lay_out(design, Floor(), per_rack=4).routes[1].mean_m == pytest.approx(exact, rel=0.02)


def test_a_small_fat_tree_needs_no_network_rack_for_its_leaves() -> None:
    leaf = one_tier(FatTree(), num_switches=1, nodes_each=4, sideways=0)
    assert lay_out(leaf, Floor(), per_rack=4).num_network_racks == 0
