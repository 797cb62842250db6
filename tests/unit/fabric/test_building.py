"""What stands inside a node, what vertices are called, and the largest network."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.errors import CatalogError, SpecError
from netloom.fabric.build import build
from netloom.fabric.graph import Fabric, VertexKind
from netloom.fabric.names import find_vertex, vertex_name
from netloom.fabric.size import design
from netloom.fabric.topologies.multi_plane import MultiPlane
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.parts.parts import Node, ScaleUp, Switch

if TYPE_CHECKING:
    from netloom.spec.topology import Topology


def a_scale_up(kind: str, *, num_links: int = 18, num_switches: int = 0) -> ScaleUp:
    return ScaleUp.model_validate(
        {
            "name": kind,
            "kind": kind,
            "generation": "test",
            "rate": f"{num_links * 200}Gbps",
            "link_rate": "200Gbps",
            "num_links": num_links,
            "num_switches": num_switches,
            "latency": "1us",
        }
    )


def a_fabric(
    scale_up: ScaleUp,
    *,
    num_nodes: int = 3,
    num_gpus: int = 8,
    num_nics: int = 8,
    topology: Topology | None = None,
) -> Fabric:
    node = Node.model_validate(
        {
            "name": "node",
            "gpu": "any",
            "num_gpus": num_gpus,
            "scale_up": "any",
            "nic": "any",
            "num_nics": num_nics,
            "host_rate": "512Gbps",
            "power": "1kW",
        }
    )
    plan = design(
        topology=topology or RailFatTree(),
        num_nodes=num_nodes,
        node=node,
        switch=a_switch(64),
        nic_rate_bps=400e9,
    )
    return build(plan, node, scale_up)


def a_switch(radix: int) -> Switch:
    return Switch.model_validate(
        {
            "name": "switch",
            "vendor": "any",
            "asic": "any",
            "protocol": "ethernet",
            "modes": (
                {"count": radix, "rate": "400Gbps"},
                {"count": 2 * radix, "rate": "200Gbps"},
            ),
        }
    )


def rates_bps(fabric: Fabric, kind: VertexKind, other: VertexKind) -> list[float]:
    """Rates of the links from one kind of vertex to another in the last node."""
    source, target = fabric.vertex_kind[fabric.link_source], fabric.vertex_kind[fabric.link_target]
    last = fabric.vertex_node[fabric.link_source] == fabric.design.num_nodes - 1
    return list(fabric.link_rate_bps[(source == kind) & (target == other) & last])


def test_a_switched_node_has_one_vertex_that_every_gpu_reaches_at_full_rate() -> None:
    fabric = a_fabric(a_scale_up("switched"))
    assert rates_bps(fabric, VertexKind.GPU, VertexKind.SCALE_UP) == [3600e9] * 8
    assert (fabric.vertex_kind == VertexKind.SCALE_UP).sum() == 3


def test_a_mesh_joins_each_pair_of_gpus_directly() -> None:
    fabric = a_fabric(a_scale_up("full-mesh", num_links=7))
    assert rates_bps(fabric, VertexKind.GPU, VertexKind.GPU) == [200e9] * 56  # 8 x 7 directions
    assert not (fabric.vertex_kind == VertexKind.SCALE_UP).any()


@pytest.mark.parametrize("num_links", [4, 6])
def test_every_gpu_of_a_hybrid_cube_mesh_uses_all_its_links(num_links: int) -> None:
    fabric = a_fabric(a_scale_up("hybrid-cube-mesh", num_links=num_links), num_nodes=1)
    between = (fabric.vertex_kind[fabric.link_source] == VertexKind.GPU) & (
        fabric.vertex_kind[fabric.link_target] == VertexKind.GPU
    )
    assert np.bincount(fabric.link_source[between]).tolist() == [num_links] * 8
    assert set(fabric.link_rate_bps[between]) == {200e9}


def test_a_hybrid_cube_mesh_of_another_size_is_refused() -> None:
    with pytest.raises(CatalogError, match="joins 8 GPUs by 4 or 6 links"):
        a_fabric(a_scale_up("hybrid-cube-mesh", num_links=6), num_gpus=4, num_nics=4)


def test_a_pcie_tree_has_its_switches_under_one_host_bridge() -> None:
    fabric = a_fabric(a_scale_up("pcie-tree", num_links=1, num_switches=2))
    # 8 GPUs up, and two switches up to the bridge and back
    assert rates_bps(fabric, VertexKind.GPU, VertexKind.SCALE_UP) == [200e9] * 8
    assert rates_bps(fabric, VertexKind.SCALE_UP, VertexKind.SCALE_UP) == [200e9] * 4


def test_a_lone_gpu_has_no_scale_up_network() -> None:
    fabric = a_fabric(a_scale_up("switched"), num_gpus=1, num_nics=1)
    assert not (fabric.vertex_kind == VertexKind.SCALE_UP).any()


@pytest.mark.parametrize(("num_gpus", "num_nics"), [(8, 8), (8, 4), (4, 8), (8, 1), (3, 2)])
def test_every_gpu_has_a_nic_and_every_nic_a_gpu_of_its_node(num_gpus: int, num_nics: int) -> None:
    fabric = a_fabric(a_scale_up("switched"), num_gpus=num_gpus, num_nics=num_nics)
    to_nic = (fabric.vertex_kind[fabric.link_source] == VertexKind.GPU) & (
        fabric.vertex_kind[fabric.link_target] == VertexKind.NIC
    )
    gpu, nic = fabric.link_source[to_nic], fabric.link_target[to_nic]
    assert to_nic.sum() == 3 * max(num_gpus, num_nics)
    assert (fabric.vertex_node[gpu] == fabric.vertex_node[nic]).all()
    assert len(set(gpu)) == 3 * num_gpus
    assert len(set(nic)) == 3 * num_nics
    assert (fabric.link_rate_bps[to_nic] == 512e9).all()


def test_the_planes_of_a_nic_share_its_host_link() -> None:
    fabric = a_fabric(a_scale_up("switched"), topology=MultiPlane(planes=2))
    assert rates_bps(fabric, VertexKind.GPU, VertexKind.NIC) == [256e9] * 16
    assert rates_bps(fabric, VertexKind.NIC, VertexKind.SWITCH) == [200e9] * 16
    first = fabric.link_target[fabric.link_source == find_vertex(fabric, "gpu:0")]
    assert [vertex_name(fabric, vertex) for vertex in first] == ["scale-up:0", "nic:0", "nic:1"]
    assert fabric.vertex_plane[first].tolist() == [0, 0, 1]


def test_every_vertex_is_found_by_its_name() -> None:
    fabric = a_fabric(a_scale_up("switched"), num_nodes=40)
    names = [vertex_name(fabric, vertex) for vertex in range(fabric.num_vertices)]
    assert len(set(names)) == fabric.num_vertices
    assert [find_vertex(fabric, name) for name in names] == list(range(fabric.num_vertices))
    assert names[12] == "gpu:12"
    assert names[320] == "nic:0"
    assert names[640] == "scale-up:0"
    assert names[680] == "leaf:0"
    assert names[-1].startswith("spine:")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leef:3", "did you mean 'leaf'"),
        ("core:0", "there are gpu, nic, scale-up, leaf, spine"),
        ("leaf:16", "write leaf:0 to leaf:15"),
        ("leaf:-1", "write leaf:0 to leaf:15"),
        ("leaf", "write leaf:0 to leaf:15"),
        ("leaf:" + "9" * 5000, "write leaf:0 to leaf:15"),
    ],
)
def test_a_vertex_that_is_not_there_is_refused_with_what_is(name: str, message: str) -> None:
    fabric = a_fabric(a_scale_up("switched"), num_nodes=40)
    with pytest.raises(SpecError, match=message):
        find_vertex(fabric, name)


@pytest.mark.slow
def test_a_million_gpus_in_three_tiers_are_built_in_less_than_4_gib() -> None:
    node = Node.model_validate(
        {
            "name": "node",
            "gpu": "any",
            "num_gpus": 8,
            "scale_up": "any",
            "nic": "any",
            "num_nics": 8,
            "host_rate": "512Gbps",
            "power": "1kW",
        }
    )
    tracemalloc.start()
    try:
        plan = design(
            topology=RailFatTree(tiers=3),
            num_nodes=131_072,
            node=node,
            switch=a_switch(256),
            nic_rate_bps=400e9,
        )
        fabric = build(plan, node, a_scale_up("switched"))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 * 2**30
    # d = 128 host ports a leaf: 8,192 leaves, as many spines, half as many cores.
    assert [tier.num_switches for tier in plan.tiers] == [8192, 8192, 4096]
    assert fabric.num_vertices == 2 * 1_048_576 + 131_072 + 8192 + 8192 + 4096
    # Scale-up, GPU to NIC, and three stages: five cables a GPU, two links each.
    assert fabric.num_links == 10 * 1_048_576
    assert fabric.link_source.dtype == np.int32
