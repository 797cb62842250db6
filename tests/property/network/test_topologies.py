"""Every builder, for random sizes, held to its design and to the definition of its topology."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from netloom.errors import InfeasibleError
from netloom.fabric.build import build
from netloom.fabric.graph import Fabric, VertexKind
from netloom.fabric.size import design
from netloom.fabric.topologies.dragonfly_plus import DragonflyPlus
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.multi_plane import MultiPlane
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.fabric.topologies.three_tier_tree import ThreeTierTree
from netloom.fabric.topologies.torus import Torus
from netloom.parts.parts import Node, ScaleUp, Switch

if TYPE_CHECKING:
    from netloom.spec.topology import Topology

RATE_BPS = 400e9
SCALE_UP = ScaleUp.model_validate(
    {
        "name": "crossbar",
        "kind": "switched",
        "generation": "test",
        "rate": "3600Gbps",
        "link_rate": "200Gbps",
        "num_links": 18,
        "latency": "1us",
    }
)

OVERSUBSCRIPTION = st.sampled_from([1.0, 1.5, 2.0, 3.0])
CLOS = st.fixed_dictionaries(
    {
        "tiers": st.sampled_from([None, None, 1, 2, 3, 4]),
        "oversubscription": OVERSUBSCRIPTION,
        "spine_oversubscription": OVERSUBSCRIPTION,
        "uplink_rate_bps": st.sampled_from([None, "400Gbps", "800Gbps"]),
        "hosts_per_leaf": st.sampled_from([None, None, 1, 3]),
    }
)
CLOS_TOPOLOGIES: st.SearchStrategy[Topology] = st.one_of(
    CLOS.map(FatTree.model_validate),
    CLOS.map(RailFatTree.model_validate),
    st.builds(
        lambda clos, planes: RailOnly.model_validate({**clos, "planes": planes}),
        CLOS,
        st.sampled_from([1, 2]),
    ),
    st.builds(
        lambda clos, planes: MultiPlane.model_validate({**clos, "planes": planes}),
        CLOS,
        st.sampled_from([2, 4]),
    ),
    st.builds(
        lambda access, aggregation: ThreeTierTree(
            access_oversubscription=access, aggregation_oversubscription=aggregation
        ),
        OVERSUBSCRIPTION,
        OVERSUBSCRIPTION,
    ),
)
DRAGONFLIES = st.builds(DragonflyPlus, groups=st.sampled_from([None, None, 2, 3, 7]))
TORI = st.builds(
    Torus,
    dimensions=st.one_of(st.none(), st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)),
)
TOPOLOGIES: st.SearchStrategy[Topology] = st.one_of(CLOS_TOPOLOGIES, DRAGONFLIES, TORI)


def a_switch(radix: int) -> Switch:
    """A switch whose ports can be joined, or split in two or four."""
    modes = [(radix // 2, "800Gbps"), (radix, "400Gbps")]
    modes += [(radix * 2, "200Gbps"), (radix * 4, "100Gbps")]
    return Switch.model_validate(
        {
            "name": f"radix-{radix}",
            "vendor": "test",
            "asic": "test",
            "protocol": "ethernet",
            "modes": tuple({"count": count, "rate": rate} for count, rate in modes),
        }
    )


def a_node(num_nics: int) -> Node:
    return Node.model_validate(
        {
            "name": "node",
            "gpu": "gpu",
            "num_gpus": num_nics,
            "scale_up": "crossbar",
            "nic": "nic",
            "num_nics": num_nics,
            "host_rate": "512Gbps",
            "power": "1kW",
        }
    )


def make(topology: Topology, num_nodes: int, num_nics: int, radix: int) -> Fabric:
    node = a_node(num_nics)
    try:
        plan = design(
            topology=topology,
            num_nodes=num_nodes,
            node=node,
            switch=a_switch(radix),
            nic_rate_bps=RATE_BPS,
        )
    except InfeasibleError:
        reject()
    return build(plan, node, SCALE_UP)


def fabrics(
    topologies: st.SearchStrategy[Topology] = TOPOLOGIES, *, max_nics: int = 5
) -> st.SearchStrategy[Fabric]:
    return st.builds(
        make, topologies, st.integers(1, 150), st.integers(1, max_nics), st.integers(2, 24)
    )


@dataclass(frozen=True)
class Switches:
    """The switches alone, renumbered from 0, and the cables between them."""

    lower: np.ndarray
    upper: np.ndarray
    port_switch: np.ndarray
    tier: np.ndarray

    @property
    def count(self) -> int:
        return len(self.tier)


def switches_of(fabric: Fabric) -> Switches:
    first = int(np.argmax(fabric.vertex_kind == VertexKind.SWITCH))
    first_nic = fabric.design.num_gpus
    lower, upper = fabric.link_source[::2], fabric.link_target[::2]
    between = lower >= first
    hosts = (upper >= first) & ~between
    assert (lower[hosts] == np.arange(first_nic, first_nic + fabric.design.num_ports)).all()
    return Switches(
        lower=lower[between] - first,
        upper=upper[between] - first,
        port_switch=upper[hosts] - first,
        tier=fabric.vertex_tier[first:],
    )


def components(num_vertices: int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Label each vertex with the smallest vertex it is joined to."""
    label = np.arange(num_vertices)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, one, label[other])
        np.minimum.at(lowest, other, label[one])
        lowest = lowest[lowest]
        if (lowest == label).all():
            return label
        label = lowest


def distances(switches: Switches, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return steps from *start* to each switch, and along how many shortest paths."""
    one = np.concatenate([switches.lower, switches.upper])
    other = np.concatenate([switches.upper, switches.lower])
    steps = np.full(switches.count, -1)
    paths = np.zeros(switches.count, dtype=object)
    steps[start], paths[start] = 0, 1
    for step in range(switches.count):
        onward = (steps[one] == step) & (steps[other] == -1)
        if not onward.any():
            break
        np.add.at(paths, other[onward], paths[one[onward]])
        steps[other[onward]] = step + 1
    return steps, paths


@given(fabrics())
def test_every_gpu_reaches_every_other(fabric: Fabric) -> None:
    label = components(fabric.num_vertices, fabric.link_source, fabric.link_target)
    assert (label[: fabric.design.num_gpus] == 0).all()


@given(fabrics())
def test_planes_and_separate_rails_meet_nowhere_but_in_the_nodes(fabric: Fabric) -> None:
    switches = switches_of(fabric)
    label = components(switches.count, switches.lower, switches.upper)
    network = label[switches.port_switch].reshape(fabric.design.num_nodes, -1)
    num_apart = fabric.design.num_planes
    if isinstance(fabric.design.topology, RailOnly):
        num_apart *= fabric.design.num_rails
    assert (network == network[0]).all()
    assert len(np.unique(network[0])) == num_apart


@given(fabrics())
def test_no_switch_has_more_cables_than_ports(fabric: Fabric) -> None:
    switches, plan = switches_of(fabric), fabric.design
    hosts = np.bincount(switches.port_switch, minlength=switches.count)
    ends = np.concatenate([switches.lower, switches.upper])
    others = np.bincount(ends, minlength=switches.count)
    rate_bps = plan.stages[-1].rate_bps if len(plan.stages) > 1 else plan.port_rate_bps
    radix = plan.switch.radix(rate_bps)
    # A port takes up its share of the switch; in whole numbers, h / H + o / O <= 1.
    assert (hosts * radix + others * plan.radix <= radix * plan.radix).all()


@given(fabrics())
def test_what_is_built_is_what_was_planned(fabric: Fabric) -> None:
    switches, plan = switches_of(fabric), fabric.design
    assert np.bincount(switches.tier)[1:].tolist() == [t.num_switches for t in plan.tiers]
    names = np.array([tier.name for tier in plan.tiers])
    ends = zip(
        names[switches.tier[switches.lower] - 1],
        names[switches.tier[switches.upper] - 1],
        strict=True,
    )
    built: dict[tuple[str, str], int] = {}
    for lower, upper in ends:
        built[lower, upper] = built.get((lower, upper), 0) + 1
    assert built == {(s.lower, s.upper): s.num_cables for s in plan.stages[1:]}
    assert len(switches.port_switch) == plan.stages[0].num_cables == plan.num_ports
    assert fabric.num_vertices == len(fabric.vertex_node) == len(fabric.vertex_rail)
    for number, tier in enumerate(plan.tiers, start=1):
        sideways = tier.name in {s.upper for s in plan.stages if s.lower == s.upper}
        down = np.bincount(switches.port_switch, minlength=switches.count)
        level = switches.tier[switches.lower] != switches.tier[switches.upper]
        down += np.bincount(switches.upper[level], minlength=switches.count)
        up = np.bincount(switches.lower, minlength=switches.count)
        if sideways:
            up += np.bincount(switches.upper[~level], minlength=switches.count)
        assert down[switches.tier == number].max() == tier.num_down
        assert up[switches.tier == number].max() == tier.num_up


@given(fabrics(CLOS_TOPOLOGIES))
def test_in_a_clos_all_uplinks_are_used_and_pairs_have_equally_many_cables(fabric: Fabric) -> None:
    switches = switches_of(fabric)
    up = np.bincount(switches.lower, minlength=switches.count)
    for number, tier in enumerate(fabric.design.tiers, start=1):
        assert (up[switches.tier == number] == tier.num_up).all()
        pair = switches.lower.astype(np.int64) * switches.count + switches.upper
        _, cables = np.unique(pair[switches.tier[switches.lower] == number], return_counts=True)
        assert len(np.unique(cables)) <= 1
    assert (switches.tier[switches.upper] == switches.tier[switches.lower] + 1).all()


@given(fabrics(CLOS_TOPOLOGIES))
def test_half_the_blocks_of_a_clos_send_all_they_have_to_the_other_half(fabric: Fabric) -> None:
    """The bisection is half the blocks times the uplinks of a block, whichever spines fail."""
    switches, plan = switches_of(fabric), fabric.design
    top = len(plan.tiers)
    if top == 1:
        return
    below = switches.tier <= top - 1
    inside = below[switches.upper]
    block = components(switches.count, switches.lower[inside], switches.upper[inside])
    network = components(switches.count, switches.lower, switches.upper)
    for one in np.unique(network):
        blocks = np.unique(block[below & (network == one)])
        half = np.isin(block, blocks[: len(blocks) // 2])
        at_top = ~inside & (network[switches.lower] == one)
        mine = np.bincount(switches.upper[at_top & half[switches.lower]], minlength=1)
        rest = np.bincount(switches.upper[at_top & ~half[switches.lower]], minlength=len(mine))
        across = np.minimum(mine, rest[: len(mine)]).sum()
        num_positions = plan.tiers[-2].num_switches // len(np.unique(network)) // len(blocks)
        assert across == len(blocks) // 2 * num_positions * plan.tiers[-2].num_up


def check_reach(fabric: Fabric) -> None:
    """Hold the reach rows to a breadth-first search from the first NIC of the first node."""
    switches, plan = switches_of(fabric), fabric.design
    steps, paths = distances(switches, int(switches.port_switch[0]))
    mine = switches.port_switch.reshape(plan.num_nodes, -1)[:, 0]
    hops, num_paths = steps[mine] + 1, paths[mine]
    known = 0
    for row in plan.reaches:
        in_reach = hops <= row.num_hops
        assert in_reach.sum() == row.num_nodes
        if row.num_nodes > known > 0:
            assert hops[in_reach].max() == row.num_hops
            farthest = hops == row.num_hops
            assert set(num_paths[farthest]) == {row.num_paths}
        known = row.num_nodes
    assert (hops <= plan.reaches[-1].num_hops).all()
    assert plan.reaches[-1].num_nodes == plan.num_nodes


def fits_a_leaf(fabric: Fabric) -> bool:
    """Whether the NICs of a node share a leaf, so that nodes can be counted by their first."""
    switches, plan = switches_of(fabric), fabric.design
    first = switches.port_switch.reshape(plan.num_nodes, -1)[0]
    return plan.num_rails > 1 or len(np.unique(first)) == plan.num_planes


@given(fabrics(st.one_of(CLOS_TOPOLOGIES, DRAGONFLIES)))
def test_reach_is_what_a_search_of_the_built_network_finds(fabric: Fabric) -> None:
    assume(fits_a_leaf(fabric))
    check_reach(fabric)


def is_full(switches: Switches) -> bool:
    """Whether all switches of a tier have as many cables below them."""
    below = np.concatenate([switches.port_switch, switches.upper])
    down = np.bincount(below, minlength=switches.count)
    return all(len(set(down[switches.tier == tier])) == 1 for tier in set(switches.tier))


@given(fabrics(CLOS_TOPOLOGIES))
def test_taper_is_host_bandwidth_over_uplink_bandwidth(fabric: Fabric) -> None:
    switches, plan = switches_of(fabric), fabric.design
    for number, row in enumerate(plan.reaches[1:], start=1):
        inside = switches.tier[switches.upper] <= number
        block = components(switches.count, switches.lower[inside], switches.upper[inside])
        hosts = np.bincount(block[switches.port_switch], minlength=switches.count)
        at_top = switches.tier[switches.lower] == number
        up = np.bincount(block[switches.lower[at_top]], minlength=switches.count)
        ratio = max(hosts[up > 0] / up[up > 0])
        ratio *= plan.port_rate_bps / plan.stages[number].rate_bps
        lower_taper = plan.reaches[number - 1].taper
        # Where the only block is the ragged last one, none is as full as the row says.
        if number == 1 or is_full(switches):
            assert row.taper == pytest.approx(max(lower_taper, ratio), rel=1e-12)
        assert row.taper >= max(lower_taper, ratio) - 1e-12


@given(fabrics(DRAGONFLIES))
def test_dragonfly_groups_are_joined_evenly(fabric: Fabric) -> None:
    switches, plan = switches_of(fabric), fabric.design
    between = switches.tier[switches.lower] == 2
    group = components(switches.count, switches.lower[~between], switches.upper[~between])
    one, other = group[switches.lower[between]], group[switches.upper[between]]
    assert (one != other).all()
    num_groups = len(np.unique(group))
    pairs = np.minimum(one, other).astype(np.int64) * switches.count + np.maximum(one, other)
    _, cables = np.unique(pairs, return_counts=True)
    assert len(cables) == num_groups * (num_groups - 1) // 2
    assert len(np.unique(cables)) <= 1
    ends = np.concatenate([switches.lower[between], switches.upper[between]])
    per_spine = np.bincount(ends, minlength=switches.count)[switches.tier == 2]
    assert per_spine.max() - per_spine.min() <= 1
    if num_groups > 1:
        # Of g groups, half of them with c cables to each of the others.
        across = num_groups // 2 * ((num_groups + 1) // 2) * cables[0]
        half = np.isin(group, np.unique(group)[: num_groups // 2])
        assert (half[switches.lower[between]] != half[switches.upper[between]]).sum() == across
    assert len(plan.reaches) == (3 if num_groups > 1 else 2)


@given(fabrics(TORI, max_nics=2))
def test_a_torus_has_its_degree_diameter_and_bisection(fabric: Fabric) -> None:
    switches, plan = switches_of(fabric), fabric.design
    last = plan.reaches[-1]
    degree = np.bincount(np.concatenate([switches.lower, switches.upper]), minlength=switches.count)
    assert (degree == plan.tiers[0].num_up).all()
    for start in {0, switches.count // 2, switches.count - 1}:
        steps, paths = distances(switches, start)
        assert steps.max() + 1 == last.num_hops
        farthest = paths[steps == steps.max()]
        assert all(min(count, 2**31 - 1) == last.num_paths for count in farthest)
    inside = [max(1, row.num_switches) for row in plan.reaches]
    shape = [more // fewer for fewer, more in pairwise(inside)] or [1]
    assert math.prod(shape) == switches.count
    longest = shape.index(max(shape))
    if max(shape) > 1:
        stride = math.prod(shape[:longest])
        place = np.arange(switches.count) // stride % max(shape)
        half = place < max(shape) // 2
        width = plan.tiers[0].num_up // (2 * len(shape))
        # Facts of the grid: 2 N / k_max neighbours face each other across the two cuts.
        across = (half[switches.lower] != half[switches.upper]).sum()
        assert across == 2 * switches.count // max(shape) * width


@settings(deadline=None, max_examples=25)
@given(TOPOLOGIES, st.integers(1, 60), st.integers(1, 4), st.integers(2, 16))
def test_equal_inputs_give_equal_arrays_that_nobody_can_write(
    topology: Topology, num_nodes: int, num_nics: int, radix: int
) -> None:
    one, other = (make(topology, num_nodes, num_nics, radix) for _ in range(2))
    for field in fields(Fabric):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert not mine.flags.writeable
            assert mine.tobytes() == theirs.tobytes()
        else:
            assert mine == theirs


@given(fabrics())
def test_a_cable_is_a_link_and_the_link_back(fabric: Fabric) -> None:
    assert (fabric.link_source[::2] == fabric.link_target[1::2]).all()
    assert (fabric.link_target[::2] == fabric.link_source[1::2]).all()
    assert (fabric.link_source != fabric.link_target).all()
    assert (fabric.link_rate_bps[::2] == fabric.link_rate_bps[1::2]).all()
    assert fabric.link_source.dtype == fabric.link_target.dtype == np.int32


@given(fabrics(CLOS_TOPOLOGIES))
def test_a_leaf_holds_one_rail_where_rails_are_wired_apart(fabric: Fabric) -> None:
    switches, plan = switches_of(fabric), fabric.design
    first = int(np.argmax(fabric.vertex_kind == VertexKind.SWITCH))
    rail = fabric.vertex_rail[first:][switches.port_switch]
    nics = slice(plan.num_gpus, plan.num_gpus + plan.num_ports)
    assert ((rail == -1) | (rail == fabric.vertex_rail[nics])).all()
    plane = fabric.vertex_plane[first:][switches.port_switch]
    assert (plane == fabric.vertex_plane[nics]).all()


@pytest.mark.parametrize("num_nodes", [1, 2, 127, 997])
@pytest.mark.parametrize(
    "topology",
    [FatTree(), RailFatTree(), RailOnly(), MultiPlane(), ThreeTierTree(), DragonflyPlus(), Torus()],
    ids=lambda topology: str(topology.kind),
)
def test_ragged_clusters_of_eight_nic_nodes_are_built(topology: Topology, num_nodes: int) -> None:
    fabric = make(topology, num_nodes, 8, 64)
    label = components(fabric.num_vertices, fabric.link_source, fabric.link_target)
    assert (label[: fabric.design.num_gpus] == 0).all()
