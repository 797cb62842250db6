"""The wiring of a built fabric: folded endpoints, routes and delays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.errors import InfeasibleError
from netloom.fabric.build import build
from netloom.fabric.cost.layout import lay_out, nodes_per_rack
from netloom.fabric.edit import drain, fail, slow
from netloom.fabric.graph import VertexKind
from netloom.fabric.routing.candidates import candidates, tables
from netloom.fabric.wiring import nexthops
from netloom.fabric.wiring.built import wiring_of
from netloom.fabric.wiring.paths import first_ways
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster, Floor
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.fabric.wiring.wiring import PacketTopology

CATALOG = load_catalog()


def _network(nodes: int, node: str, technology: str, **topology: object) -> tuple[Fabric, Network]:
    cluster = Cluster.model_validate(
        {"nodes": nodes, "node": node, "fabric": {"technology": technology, "topology": topology}}
    )
    network = network_of(cluster, CATALOG)
    return build(network.design, network.node, network.scale_up), network


def _wiring(fabric: Fabric, network: Network, *, scale_up: bool = False) -> PacketTopology:
    return wiring_of(fabric, network, Floor(), scale_up=scale_up)


def _next(wiring: PacketTopology, at: str, to: str) -> list[str]:
    vertex, end = wiring.name.index(at), wiring.name.index(to)
    number = wiring.choices[vertex, wiring.goal[end]]
    links = wiring.links[wiring.offsets[number] : wiring.offsets[number + 1]]
    return [wiring.name[wiring.link_target[link]] for link in links.tolist()]


def _every_pair(wiring: PacketTopology, most: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    one, other = np.nonzero(~np.eye(wiring.num_endpoints, dtype=bool))
    step = max(1, len(one) // most)
    return one[::step], other[::step]


@pytest.mark.parametrize(
    ("nodes", "node", "technology", "topology"),
    [
        (8, "dgx-h100", "rocev2-400g", {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}),
        (16, "dgx-h100", "infiniband-ndr", {"kind": "rail-fat-tree"}),
        (8, "dgx-h100", "rocev2-400g", {"kind": "multi-plane", "planes": 2}),
        (8, "dgx-h100", "rocev2-400g", {"kind": "torus"}),
        (16, "dgx-h100", "infiniband-ndr", {"kind": "dragonfly-plus"}),
        (8, "dgx-1v", "infiniband-edr", {"kind": "fat-tree"}),  # two GPUs share a NIC
        (8, "pcie-h100-8", "rocev2-400g", {"kind": "fat-tree"}),
        (8, "gaudi3-8", "rocev2-200g", {"kind": "fat-tree"}),  # three NICs a GPU
    ],
)
@pytest.mark.parametrize("scale_up", [False, True])
def test_every_pair_has_a_way_and_routes_lead_from_where_they_are_looked_up(
    nodes: int,
    node: str,
    technology: str,
    topology: dict[str, object],
    *,
    scale_up: bool,
) -> None:
    fabric, network = _network(nodes, node, technology, **topology)
    wiring = _wiring(fabric, network, scale_up=scale_up)
    assert wiring.num_endpoints == network.design.num_gpus
    assert (wiring.link_source[::2] == wiring.link_target[1::2]).all()
    assert (wiring.link_source[1::2] == wiring.link_target[::2]).all()
    for vertex in range(wiring.num_vertices):
        for number in np.unique(wiring.choices[vertex]).tolist():
            links = wiring.links[wiring.offsets[number] : wiring.offsets[number + 1]]
            assert (wiring.link_source[links] == vertex).all()
            assert (np.diff(links) > 0).all()
    source, target = _every_pair(wiring)
    ways = first_ways(wiring, source, target)  # raises where there is none
    inside = source // network.node.num_gpus == target // network.node.num_gpus
    last = wiring.link_scale_up[ways.links[inside, 0]]
    if scale_up and node in {"dgx-h100", "gaudi3-8"}:
        assert last.all()
    if not scale_up:
        rates = wiring.link_rate_bps[~wiring.link_scale_up]
        assert rates.max() <= network.nic_rate_bps


def test_routes_are_those_of_the_fabric() -> None:
    fabric, network = _network(
        8, "dgx-h100", "rocev2-400g", kind="fat-tree", tiers=2, hosts_per_leaf=16
    )
    fabric = fail(fabric, "cable:200")
    wiring, known = _wiring(fabric, network), tables(fabric)
    first = len(fabric.vertex_kind) - (wiring.num_vertices - wiring.num_endpoints)
    for switch in range(first, fabric.num_vertices):
        for gpu in range(0, wiring.num_endpoints, 5):
            at = wiring.num_endpoints + switch - first
            number = wiring.choices[at, wiring.goal[gpu]]
            mine = wiring.links[wiring.offsets[number] : wiring.offsets[number + 1]]
            theirs = candidates(known, switch, gpu)
            ends = sorted(fabric.link_target[theirs].tolist())
            if len(mine):
                assert (
                    sorted((wiring.link_target[mine] + first - wiring.num_endpoints).tolist())
                    == ends
                )
            else:  # joined to the GPU itself
                assert len(theirs) == 1


def test_a_link_that_is_down_or_drained_is_there_but_not_used() -> None:
    fabric, network = _network(8, "dgx-h100", "rocev2-400g", kind="multi-plane", planes=2)
    whole = _wiring(fabric, network)
    assert len(_next(whole, "gpu:0", "gpu:63")) == 2  # a way in each plane
    for change in (fail, drain):
        broken = _wiring(change(fabric, "nic:0"), network)
        assert broken.num_links == whole.num_links
        assert len(_next(broken, "gpu:0", "gpu:63")) == 1
        assert len(_next(broken, "gpu:63", "gpu:0")) == 1  # the other plane reaches it still


def test_a_gpu_cut_off_has_no_way_and_is_named() -> None:
    fabric, network = _network(2, "dgx-h100", "rocev2-400g", kind="fat-tree")
    wiring = _wiring(fail(fabric, "nic:3"), network)
    with pytest.raises(InfeasibleError, match="gpu:3 to gpu:9: no way"):
        first_ways(wiring, np.array([3]), np.array([9]))


def test_a_slowed_link_has_what_is_left_of_its_rate() -> None:
    fabric, network = _network(2, "dgx-h100", "rocev2-400g", kind="fat-tree")
    wiring = _wiring(slow(fabric, "nic:3", 4), network)
    out = wiring.link_rate_bps[wiring.link_source == 3]
    assert out.tolist() == [100e9]


def test_delays_are_cable_lengths_and_forwarding_is_the_budget() -> None:
    fabric, network = _network(
        8, "dgx-h100", "rocev2-400g", kind="fat-tree", tiers=2, hosts_per_leaf=16
    )
    wiring = _wiring(fabric, network, scale_up=True)
    routes = lay_out(network.design, Floor(), per_rack=nodes_per_rack(Floor(), network.node)).routes
    # 5 ns a metre, the mean length of each stage.
    expected = {round(route.mean_m * 5000) for route in routes}
    assert set(wiring.link_delay_ps[~wiring.link_scale_up].tolist()) == expected
    # GPU to GPU over the scale-up switch is two links.
    ways = first_ways(wiring, np.array([0]), np.array([1]))
    assert ways.delay_ps.tolist() == [round(network.scale_up.latency_s * 1e12)]
    switch = wiring.forward_ps[wiring.name.index("leaf:0")]
    assert switch == round(network.technology.latency.switch_s * 1e12)
    assert not wiring.forward_ps[: wiring.num_endpoints].any()


def test_gpus_that_share_a_nic_share_its_link() -> None:
    fabric, network = _network(2, "pcie-h100-8", "rocev2-400g", kind="fat-tree")
    wiring = _wiring(fabric, network)
    first = first_ways(wiring, np.array([0, 1]), np.array([8, 8]))
    # 8 GPUs on 4 NICs: GPUs 0 and 1 have their own way to one NIC, and its cable in common.
    assert first.links[0, 0] != first.links[1, 0]
    assert first.links[0, 1] == first.links[1, 1]


def test_a_table_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, network = _network(2, "dgx-h100", "rocev2-400g", kind="fat-tree")
    monkeypatch.setattr(nexthops, "MAX_TABLE_BYTES", 10)
    with pytest.raises(InfeasibleError, match="use a smaller cluster, or --engine flow"):
        _wiring(fabric, network)


@pytest.mark.parametrize("node", ["dgx-1v", "oam-hcm-8"])  # GPUs joined by links of their own
def test_links_between_gpus_are_there_only_with_the_scale_up_network(node: str) -> None:
    fabric, network = _network(4, node, "rocev2-400g", kind="fat-tree")
    count = network.design.num_gpus
    direct = {}
    for scale_up in (False, True):
        wiring = _wiring(fabric, network, scale_up=scale_up)
        joins = (wiring.link_source < count) & (wiring.link_target < count)
        direct[scale_up] = int(np.count_nonzero(joins))
        assert np.array_equal(joins & wiring.link_scale_up, joins)
    kind = fabric.vertex_kind
    own = (kind[fabric.link_source] == VertexKind.GPU) & (
        kind[fabric.link_target] == VertexKind.GPU
    )
    assert direct == {False: 0, True: np.count_nonzero(own)}
    assert direct[True] > 0
