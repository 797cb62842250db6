from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from pydantic import TypeAdapter

from netloom.engines.analytic.path import _share_beyond, scale_out
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster, FabricSpec
from netloom.spec.topology import Topology
from netloom.study.networks import network_of
from netloom.workload.collective import Group

if TYPE_CHECKING:
    from netloom.fabric.network import Network

RAIL = RailFatTree()


def network(technology: str, *, nodes: int = 2048, topology: RailFatTree = RAIL) -> Network:
    cluster = Cluster(nodes=nodes, fabric=FabricSpec(technology=technology, topology=topology))
    return network_of(cluster, load_catalog())


def pair(stride: int, *, span: int, displaced: float = 0.0) -> Group:
    return Group(
        size=2,
        per_node=1,
        node_stride=stride,
        active_per_node=8,
        displaced=displaced,
        span_nodes=span,
    )


def test_a_host_that_cannot_fill_its_nic_does_not_fill_the_uplinks_either() -> None:
    """Kernel TCP pushes 70 of 400 Gb/s, so even three hashed neighbours on a link fit."""
    tcp = network("tcp-400g")
    assert tcp.technology.host_rate_bps == 70e9
    path = scale_out(tcp, pair(128, span=2048), "pair")
    assert path.slowdown == pytest.approx(1.0, abs=0.05)


def test_the_rate_of_a_host_is_told_where_software_copies_and_nowhere_else() -> None:
    def told(technology: str) -> dict[str, object]:
        offered, *_ = scale_out(network(technology), pair(128, span=2048), "pair").why.parts
        return {part.name: part.value for part in offered.parts if "host_rate" in part.name}

    node = {"dgx-h100 host_rate": 504e9}  # of PCIe
    assert told("tcp-400g") == {"tcp-400g host_rate": 70e9, **node}
    assert told("rocev2-400g") == node


def test_neighbours_a_quarter_of_a_pod_apart_cross_the_core_a_quarter_of_the_time() -> None:
    """Pods of 512 nodes, stages 128 apart: one hop in four leaves its pod."""
    roce = network("rocev2-400g")
    assert [reach.num_nodes for reach in roce.design.reaches] == [64, 512, 2048]
    core = scale_out(roce, pair(128, span=2048), "pair").why.parts[1].parts[-1]
    assert core.parts[0].value == pytest.approx(0.25)


def test_a_group_inside_one_pod_never_crosses_the_core() -> None:
    roce = network("rocev2-400g")
    slowdown = scale_out(roce, pair(128, span=512), "pair").why.parts[1]
    assert [tier.name for tier in slowdown.parts] == ["slowdown through the spine tier"]


def test_a_tapered_core_slows_stages_that_cross_it() -> None:
    plain = network("infiniband-ndr")
    tapered = network("infiniband-ndr", topology=RailFatTree(spine_oversubscription=8.0))
    group = pair(128, span=2048)
    assert scale_out(tapered, group, "pair").rate_bps < scale_out(plain, group, "pair").rate_bps


@pytest.mark.parametrize("displaced", [1e-6, 1e-3])
def test_static_routes_suffer_from_displaced_nodes_by_degrees(displaced: float) -> None:
    """With d-mod-k only what displaced nodes send meets other flows: a few, not all."""
    edr = network("infiniband-edr", nodes=1024)
    assert edr.technology.load_balancing == "static"
    packed = scale_out(edr, pair(128, span=1024), "pair").slowdown
    astray = scale_out(edr, pair(128, span=1024, displaced=displaced), "pair").slowdown
    assert packed == pytest.approx(1.0, abs=0.05)
    assert packed <= astray < 2.2


def test_all_switches_of_a_tier_are_waited_for_not_only_a_groups_own() -> None:
    roce = network("rocev2-400g")
    spine = scale_out(roce, pair(128, span=2048), "pair").why.parts[1].parts[0]
    switches = next(part for part in spine.parts if part.name == "switches")
    assert switches.value == roce.design.tiers[0].num_switches


def test_groups_that_do_not_tile_a_leaf_cross_it_as_the_worst_leaf_does() -> None:
    """Groups of 8 nodes over leaves of 7: the worst leaf sends 0.633 of its traffic up.

    Leaf 3 holds nodes 21 to 27: three of the group 16-23 and four of 24-31. Of seven partners
    the three find 5 elsewhere, the four 4: (3 x 5 + 4 x 4) / 49 = 0.633.
    """
    share = _share_beyond(8, 1, "all-to-all", block=7, num_nodes=1024)
    assert share == pytest.approx(31 / 49)


def test_groups_that_tile_a_leaf_never_leave_it() -> None:
    assert _share_beyond(8, 1, "all-to-all", block=64, num_nodes=1024) == 0.0


def test_a_ring_in_order_leaves_a_leaf_once() -> None:
    """32 nodes of one ring under a leaf: the last one's hop leaves."""
    assert _share_beyond(1024, 1, "ring", block=32, num_nodes=1024) == pytest.approx(1 / 32)


@pytest.mark.parametrize("kind", ["fat-tree", "rail-fat-tree"])
def test_more_oversubscription_never_makes_an_all_to_all_faster(kind: str) -> None:
    group = Group(size=64, per_node=8, active_per_node=8)
    rates = []
    for ratio in (1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0):
        adapter: TypeAdapter[Topology] = TypeAdapter(Topology)
        topology = adapter.validate_python({"kind": kind, "oversubscription": ratio})
        cluster = Cluster(nodes=512, fabric=FabricSpec(topology=topology))
        rates.append(scale_out(network_of(cluster, load_catalog()), group, "all-to-all").rate_bps)
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(rates))
