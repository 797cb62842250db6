from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
import small

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.edit import fail
from netloom.fabric.names import link_name
from netloom.fabric.routing import dmodk, ecmp
from netloom.fabric.routing.candidates import tables

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric


def way(fabric: Fabric, source: int, target: int, *, pxn: bool = False, port: int = 0xC000) -> str:
    flows = small.flows([(source, target)], ports=[port])
    path = ecmp.paths(tables(fabric), flows, pxn=pxn).path(0)
    links = [link_name(fabric, int(link)) for link in path]
    stops = [links[0].partition("->")[0], *(link.partition("->")[2] for link in links)]
    assert links == [f"{a}->{b}" for a, b in itertools.pairwise(stops)]
    return " ".join(stops)


def test_gpus_of_one_node_talk_over_the_scale_up_network() -> None:
    assert way(small.rails(2, 4, num_spines=1), 0, 3) == "gpu:0 scale-up:0 gpu:3"


def test_gpus_joined_in_a_line_talk_through_those_between_them() -> None:
    assert way(small.mesh_nodes(), 4, 7) == "gpu:4 gpu:5 gpu:6 gpu:7"


def test_a_gpu_cut_off_from_the_scale_up_network_goes_out_through_the_nics() -> None:
    fabric = fail(small.rails(2, 2, num_spines=1), "link:gpu:0-scale-up:0")
    assert way(fabric, 0, 1) == "gpu:0 nic:0 leaf:0 spine:0 leaf:1 nic:1 gpu:1"


def test_the_same_rail_of_another_node_is_one_leaf_away() -> None:
    assert way(small.rails(2, 2, num_spines=1), 0, 2) == "gpu:0 nic:0 leaf:0 nic:2 gpu:2"


def test_another_rail_of_another_node_is_reached_over_a_spine() -> None:
    fabric = small.rails(2, 2, num_spines=1)
    assert way(fabric, 0, 3) == "gpu:0 nic:0 leaf:0 spine:0 leaf:1 nic:3 gpu:3"


def test_pxn_hands_the_data_to_the_gpu_on_the_rail_of_the_destination() -> None:
    fabric = small.rails(2, 2, num_spines=1)
    assert way(fabric, 0, 3, pxn=True) == "gpu:0 scale-up:0 gpu:1 nic:1 leaf:1 nic:3 gpu:3"


def test_pxn_changes_nothing_on_the_own_rail_or_where_rails_share_leaves() -> None:
    fabric = small.rails(2, 2, num_spines=1)
    assert way(fabric, 0, 2, pxn=True) == way(fabric, 0, 2)
    assert way(small.mesh_nodes(), 0, 5, pxn=True) == "gpu:0 nic:0 leaf:0 nic:5 gpu:5"


def test_rails_that_do_not_meet_are_changed_inside_the_sending_node() -> None:
    fabric = small.rails(2, 2, num_spines=0)
    assert way(fabric, 0, 3) == "gpu:0 scale-up:0 gpu:1 nic:1 leaf:1 nic:3 gpu:3"


def test_pxn_falls_back_to_the_spine_when_the_relay_is_gone() -> None:
    fabric = fail(small.rails(2, 2, num_spines=1), "nic:1")
    assert way(fabric, 0, 3, pxn=True) == "gpu:0 nic:0 leaf:0 spine:0 leaf:1 nic:3 gpu:3"


def test_a_gpu_that_lost_its_nic_can_neither_send_nor_receive() -> None:
    fabric = fail(small.rails(2, 2, num_spines=0), "nic:0")
    for source, target in ((0, 3), (3, 0)):
        with pytest.raises(InfeasibleError, match=f"gpu:{source} to gpu:{target}: no path"):
            way(fabric, source, target)


def test_flows_are_hashed_over_the_planes_and_stay_in_theirs() -> None:
    fabric = small.two_planes(2)
    ways = {way(fabric, 0, 1, port=port) for port in range(0xC000, 0xC020)}
    assert ways == {"gpu:0 nic:0 leaf:0 nic:2 gpu:1", "gpu:0 nic:1 leaf:1 nic:3 gpu:1"}


def test_of_several_ports_the_nearest_pair_is_used() -> None:
    # Both GPUs have a port on each of two leaves that a spine joins; one leaf is nearer.
    hosts = [small.Machine(1, [[0, 1]], one_plane=True) for _ in range(2)]
    cables = [((1, 0), (2, 0)), ((1, 1), (2, 0))]
    fabric = small.fabric(small.Parts(machines=hosts, tiers=[2, 1], cables=cables))
    ways = {way(fabric, 0, 1, port=port) for port in range(0xC000, 0xC020)}
    assert ways == {"gpu:0 nic:0 leaf:0 nic:2 gpu:1", "gpu:0 nic:1 leaf:1 nic:3 gpu:1"}


def test_planes_are_not_changed_even_where_a_switch_joins_them() -> None:
    hosts = [small.Machine(1, [[0, 1]]) for _ in range(2)]
    cables = [((1, 0), (2, 0)), ((1, 1), (2, 0))]
    fabric = small.fabric(small.Parts(machines=hosts, tiers=[2, 1], cables=cables))
    with pytest.raises(InfeasibleError, match="gpu:0 to gpu:1"):
        way(fail(fail(fabric, "nic:1"), "nic:2"), 0, 1)


def test_a_lost_plane_leaves_the_other() -> None:
    fabric = fail(small.two_planes(2), "nic:2")
    ways = {way(fabric, 0, 1, port=port) for port in range(0xC000, 0xC020)}
    assert ways == {"gpu:0 nic:1 leaf:1 nic:3 gpu:1"}


def test_partitioned_flows_are_counted_and_the_first_is_named() -> None:
    fabric = fail(small.leaf_spine(2, 1, 2), "spine:0")
    flows = small.flows([(0, 1), (0, 2), (1, 3)])
    with pytest.raises(InfeasibleError, match=r"gpu:0 to gpu:2 \(and 1 more flows\)"):
        dmodk.paths(tables(fabric), flows)


@pytest.mark.parametrize(
    ("pair", "what"), [((0, 9), "no GPU 9"), ((-1, 0), "no GPU -1"), ((1, 1), "sends to itself")]
)
def test_a_flow_must_join_two_gpus(pair: tuple[int, int], what: str) -> None:
    with pytest.raises(SpecError, match=what):
        ecmp.paths(tables(small.leaf_spine(2, 1, 1)), small.flows([pair]))


def test_no_flows_have_no_paths() -> None:
    assert len(ecmp.paths(tables(small.leaf_spine(2, 1, 1)), small.flows([]))) == 0
