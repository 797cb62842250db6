"""Sizing: what fits, what does not, and what is said about it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.errors import InfeasibleError
from netloom.fabric.size import choose, design
from netloom.fabric.topologies import clos_size
from netloom.fabric.topologies.dragonfly_plus import DragonflyPlus
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.multi_plane import MultiPlane
from netloom.fabric.topologies.ports import Ports, spread
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.fabric.topologies.request import Request
from netloom.fabric.topologies.three_tier_tree import ThreeTierTree
from netloom.fabric.topologies.torus import ENTRY as TORUS
from netloom.fabric.topologies.torus import Torus
from netloom.parts.load import load_catalog
from netloom.parts.parts import Node, Switch

if TYPE_CHECKING:
    from netloom.fabric.design import Design
    from netloom.spec.topology import Topology


def a_switch(*modes: tuple[int, str], name: str = "SW", protocol: str = "infiniband") -> Switch:
    return Switch.model_validate(
        {
            "name": name,
            "vendor": "any",
            "asic": "any",
            "protocol": protocol,
            "modes": tuple({"count": count, "rate": rate} for count, rate in modes),
        }
    )


def a_node(num_nics: int = 8) -> Node:
    return Node.model_validate(
        {
            "name": "node",
            "gpu": "any",
            "num_gpus": 8,
            "scale_up": "any",
            "nic": "any",
            "num_nics": num_nics,
            "host_rate": "512Gbps",
            "power": "1kW",
        }
    )


SWITCH = a_switch((64, "400Gbps"))


def sized(topology: Topology, num_nodes: int, *, num_nics: int = 8, radix: int = 64) -> Design:
    return design(
        topology=topology,
        num_nodes=num_nodes,
        node=a_node(num_nics),
        switch=a_switch((radix, "400Gbps")),
        nic_rate_bps=400e9,
    )


def shape(plan: Design) -> list[tuple[int, int, int]]:
    return [(tier.num_switches, tier.num_down, tier.num_up) for tier in plan.tiers]


def test_a_leaf_oversubscribed_three_to_one_has_48_hosts_and_16_uplinks() -> None:
    # d = k o / (1 + o) = 64 x 3 / 4 = 48, u = 16: 252 nodes on 42 leaves of 6, and each leaf has
    # one cable to each of 16 spines, as two would need 84 ports there.
    plan = sized(FatTree(oversubscription=3), 252)
    assert shape(plan) == [(42, 48, 16), (16, 42, 0)]
    assert plan.reaches[-1].taper == 3


def test_tapered_leaves_stay_emptier_where_that_saves_spines() -> None:
    # Full: d = 128 x 2 / 3 = 85 and u = 43, a prime, so each rail has 43 spines. As many leaves,
    # four, take 256 nodes by 64, with 32 uplinks: 4 x 32 = 128, the ports of one spine.
    plan = sized(RailOnly(oversubscription=2), 256, radix=128)
    assert shape(plan) == [(32, 64, 32), (8, 128, 0)]
    assert plan.reaches[-1].taper == 2


@pytest.mark.parametrize("num_nodes", [20, 70, 100, 256, 700])
@pytest.mark.parametrize("kind", [FatTree, RailFatTree, RailOnly])
def test_oversubscription_never_takes_more_switches(kind: type[FatTree], num_nodes: int) -> None:
    counts = [
        sum(tier.num_switches for tier in sized(kind(oversubscription=taper), num_nodes).tiers)
        for taper in (1, 2, 3, 4)
    ]
    assert counts[0] == max(counts)


def test_faster_uplinks_take_up_their_share_of_the_switch() -> None:
    ports = Ports(host_radix=256, host_rate_bps=200e9, radix=128, rate_bps=400e9)
    assert ports.max_up(136) == 60  # 27.2 Tbit/s of hosts leave 24 Tbit/s of 51.2
    assert ports.min_up(128, 16 / 15) == 60  # 25.6 Tbit/s x 15/16 = 60 x 400 Gbit/s
    assert ports.max_hosts(1) == 128


def test_cables_to_each_spine_are_a_whole_number() -> None:
    # 24 leaves x 32 uplinks = 768 = 12 spines of 64; but 32 does not divide by 12 to 15.
    assert spread(min_up=32, max_up=32, num_lower=24, radix=64) == (16, 2)
    # With a port to spare, 31 uplinks become 32, which 4 spines divide.
    assert spread(min_up=31, max_up=33, num_lower=8, radix=64) == (4, 8)


def test_few_nodes_share_a_leaf_over_several_rails() -> None:
    # 10 nodes x 3 rails fill 30 of 32 ports: 3 leaves for 8 rails, 90 uplinks on 2 spines.
    plan = sized(RailFatTree(), 10)
    assert shape(plan) == [(3, 30, 30), (2, 45, 0)]
    assert any("3 rails share a leaf" in note for note in plan.notes)


def test_one_node_needs_one_switch() -> None:
    assert shape(sized(RailFatTree(), 1)) == [(1, 8, 0)]
    assert shape(sized(RailOnly(), 64)) == [(8, 64, 0)]
    assert [reach.num_nodes for reach in sized(RailOnly(), 64).reaches] == [64]


def test_a_node_with_more_nics_than_a_leaf_has_ports_spreads_over_leaves() -> None:
    # 6 nodes x 72 NICs = 432 ports on leaves of 32: 14 leaves; no leaf holds a whole node.
    plan = sized(FatTree(), 6, num_nics=72)
    assert plan.tiers[0].num_switches == 14
    assert plan.reaches[0].num_nodes == 1


def test_pods_hold_a_single_rail_when_whole_units_do_not_fit() -> None:
    # 72 rails make a unit of 72 leaves, more than the 32 of a pod.
    plan = sized(RailFatTree(), 1024, num_nics=72)
    assert any("single rail" in note for note in plan.notes)
    # A rail has 32 leaves of 32 nodes: one pod.
    assert [reach.num_nodes for reach in plan.reaches[:2]] == [32, 1024]


def test_a_rate_the_switch_has_no_mode_for_runs_on_a_faster_port() -> None:
    plan = design(
        topology=FatTree(),
        num_nodes=8,
        node=a_node(),
        switch=SWITCH,
        nic_rate_bps=100e9,
    )
    assert plan.radix == 64
    assert plan.stages[0].rate_bps == 100e9
    assert "no mode of 100Gbps" in plan.notes[0]


def test_a_port_slower_than_the_nic_is_refused_with_the_remedy() -> None:
    with pytest.raises(InfeasibleError, match=r"no port of 800Gbps.*more planes"):
        design(topology=FatTree(), num_nodes=8, node=a_node(), switch=SWITCH, nic_rate_bps=800e9)
    split = design(
        topology=MultiPlane(), num_nodes=8, node=a_node(), switch=SWITCH, nic_rate_bps=800e9
    )
    assert split.port_rate_bps == 400e9


def test_too_few_ports_are_refused_with_what_would_do() -> None:
    # 184 ports: 92 nodes on a leaf, 23 x 8 leaves; 183 and 182 have 91 and 184 leaves as well.
    remedy = (
        "2 tiers of SW with 64 ports can join 2,048 NIC ports; this cluster has 16,384: "
        "use tiers: 3, or a switch with at least 184 ports, or kind: rail-only"
    )
    with pytest.raises(InfeasibleError) as caught:
        sized(RailFatTree(tiers=2), 2048)
    assert remedy in str(caught.value)
    assert len(sized(RailFatTree(tiers=2), 2048, radix=184).tiers) == 2
    assert len(sized(RailOnly(tiers=2), 2048).tiers) == 2
    with pytest.raises(InfeasibleError):
        sized(RailFatTree(tiers=2), 2048, radix=183)


@pytest.mark.parametrize(
    ("topology", "num_nodes", "message"),
    [
        (FatTree(hosts_per_leaf=40), 100, "hosts_per_leaf: 40 .* use hosts_per_leaf: 32 or less"),
        (FatTree(tiers=1), 9, "1 tier of SW .* 64 NIC ports; this cluster has 72"),
        (ThreeTierTree(), 20_000, "use a higher oversubscription"),
        (DragonflyPlus(groups=2), 1000, "use groups: 8 or more"),
        (DragonflyPlus(groups=100), 10, "more than the 3 leaves"),
        (DragonflyPlus(), 4_000_000, "use a switch with more ports"),
        (Torus(dimensions=(2, 2)), 1000, "use more switches along the dimensions"),
        (Torus(dimensions=(9, 9)), 80, "81 switches are more than the 80 nodes"),
    ],
)
def test_what_cannot_be_built_says_why(topology: Topology, num_nodes: int, message: str) -> None:
    with pytest.raises(InfeasibleError, match=message):
        sized(topology, num_nodes)


def test_a_torus_left_to_itself_is_the_most_even_box_with_hosts_on_half_the_ports() -> None:
    # 4 nodes of 8 NICs a switch, so 27 switches for 108 nodes; 32 ports / 6 ways = 5 cables.
    plan = sized(Torus(), 108)
    assert shape(plan) == [(27, 32, 30)]
    assert plan.stages[1].num_cables == 27 * 3 * 5
    # 27 x 32 / 2 hosts talk over 2 x 27 / 3 x 5 = 90 cables.
    assert plan.reaches[-1].taper == pytest.approx(432 / 90)


def test_a_torus_has_its_dimensions_in_the_order_asked_for() -> None:
    # A ring of 4, two beside one another: 8 nodes of 8 NICs, one a switch, 56 ports / 4 ways = 14.
    plan = sized(Torus(dimensions=(4, 2)), 8)
    assert plan.notes == ("4 x 2 switches, 14 cables to each neighbour",)
    # Own switch; 2 hops along the ring of 4; 1 more across. Asked as (2, 4): 1 hop, then 2 more.
    assert [(r.num_nodes, r.num_hops) for r in plan.reaches] == [(1, 1), (4, 3), (8, 4)]
    turned = sized(Torus(dimensions=(2, 4)), 8)
    assert [(r.num_nodes, r.num_hops) for r in turned.reaches] == [(1, 1), (2, 2), (8, 4)]


@pytest.mark.parametrize(
    ("dimensions", "neighbours"),
    [
        # Switch 0 in a ring of 4: 1 and 3; across, over the cable beside and the one around: 4.
        ((4, 2), {1, 3, 4}),
        # In a pair: 1, twice; in a ring of 4 pairs: 2 and 6.
        ((2, 4), {1, 2, 6}),
        # Strides 1, 2 and 6: pair 1, ring of three 2 and 4, ring of four 6 and 18.
        ((2, 3, 4), {1, 2, 4, 6, 18}),
    ],
)
def test_the_cables_of_a_torus_follow_the_order_asked_for(
    dimensions: tuple[int, ...], neighbours: set[int]
) -> None:
    topology = Torus(dimensions=dimensions)
    request = Request.of(
        a_node(),
        num_nodes=math.prod(dimensions),
        topology=topology,
        switch=SWITCH,
        nic_rate_bps=400e9,
    )
    wiring = TORUS.wire(request, topology)
    at_first = (wiring.lower == 0) | (wiring.upper == 0)
    ends = np.concatenate([wiring.lower[at_first], wiring.upper[at_first]])
    assert set(ends.tolist()) - {0} == neighbours
    # 64 ports less 8 NICs, shared by two ways in each dimension.
    width = 56 // (2 * len(dimensions))
    assert np.count_nonzero(at_first) == 2 * len(dimensions) * width


def test_choose_keeps_to_the_preferred_switch_while_three_tiers_do() -> None:
    larger = a_switch((144, "800Gbps"), name="X800")
    plan = choose(num_gpus=16_384, node=a_node(), switches=[SWITCH, larger], nic_rate_bps=400e9)
    assert plan.topology.kind == "rail-fat-tree"
    assert plan.switch.name == "SW"
    assert not any(note.startswith("not ") for note in plan.notes)


def test_choose_says_why_it_passed_over_what_came_first() -> None:
    # 1,048,576 GPUs: 64 ports end at 65,536 in three tiers, 65,536 nodes with rails apart;
    # 144 ports at 746,496, and 746,496 nodes with rails apart.
    larger = a_switch((144, "800Gbps"), name="X800")
    other = a_switch((512, "800Gbps"), name="ETH", protocol="ethernet")
    plan = choose(
        num_gpus=1_048_576, node=a_node(), switches=[SWITCH, other, larger], nic_rate_bps=400e9
    )
    assert (plan.topology.kind, plan.switch.name, len(plan.tiers)) == ("rail-only", "X800", 3)
    assert [note.split(":")[0] for note in plan.notes if note.startswith("not ")] == [
        "not rail-fat-tree of SW",
        "not rail-only of SW",
        "not rail-fat-tree of X800",
    ]


def test_choose_falls_back_on_four_tiers_and_rounds_up_to_whole_nodes() -> None:
    plan = choose(num_gpus=1_000_001, node=a_node(), switches=[SWITCH], nic_rate_bps=400e9)
    assert (plan.num_nodes, len(plan.tiers)) == (125_001, 4)
    assert "1,000,001 GPUs take 125,001 nodes, which have 1,000,008" in plan.notes


def test_choose_tries_larger_switches_for_a_given_topology() -> None:
    larger = a_switch((256, "400Gbps"), name="LARGER")
    topology = RailFatTree(tiers=2)
    plan = choose(
        num_gpus=16_384,
        node=a_node(),
        switches=[SWITCH, larger],
        nic_rate_bps=400e9,
        topology=topology,
    )
    assert (plan.topology, plan.switch.name) == (topology, "LARGER")
    with pytest.raises(InfeasibleError, match=r"rail-fat-tree of SW: .*tiers: 3"):
        choose(
            num_gpus=16_384,
            node=a_node(),
            switches=[SWITCH],
            nic_rate_bps=400e9,
            topology=topology,
        )


@pytest.mark.parametrize("topology", [FatTree(), RailFatTree(), RailOnly()])
def test_more_nodes_never_take_fewer_switches(topology: Topology) -> None:
    counts = [sized(topology, num_nodes).num_switches for num_nodes in range(1, 3000, 7)]
    assert counts == sorted(counts)


def test_a_rack_of_computers_is_wired_computer_by_computer() -> None:
    """An NVL72 rack has 18 computers of 4 NICs: 4 rails, 32 computers under each leaf of 32.

    16 racks are 288 computers: 9 units of 4 leaves, 36; 36 x 32 uplinks need 18 spines of 64,
    and 32 divides 32.
    """
    catalog = load_catalog()
    found = design(
        topology=RailFatTree(),
        num_nodes=16,
        node=catalog.node("gb200-nvl72"),
        switch=catalog.switch("QM9700"),
        nic_rate_bps=400e9,
    )
    assert (found.num_nodes, found.num_gpus, found.num_rails) == (16, 1152, 4)
    assert [tier.num_switches for tier in found.tiers] == [36, 32]


def test_the_room_of_a_network_is_looked_for_once_for_all_numbers_of_nodes() -> None:
    """A fat tree of two tiers of 64 ports joins 64^2 / 2 NICs: 256 nodes of 8."""
    clos_size._max_nodes_of.cache_clear()
    notes = [sized(FatTree(tiers=2), nodes).notes for nodes in (100, 200, 256)]
    found = clos_size._max_nodes_of.cache_info()
    assert (found.misses, found.hits) == (1, 2)
    more = [next(note for note in said if "joins up to 256 nodes" in note) for said in notes]
    assert [note.rpartition(": ")[2] for note in more] == ["156 more", "56 more", "0 more"]
