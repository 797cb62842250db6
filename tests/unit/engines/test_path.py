"""What the scale-out network gives a group, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netloom.engines.analytic.path import scale_out
from netloom.fabric.design import Design, Reach, Tier
from netloom.fabric.network import Network
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.parts.load import load_catalog
from netloom.workload.collective import Group

NODES_A_LEAF = 32


def reach(tier: str, num_nodes: int, **known: float) -> Reach:
    values = {"num_hops": 1, "num_paths": 1, "num_links": 0, "num_switches": 1, "taper": 1.0}
    return Reach(tier=tier, num_nodes=num_nodes, **(values | known))  # type: ignore[arg-type]


def two_tiers(technology: str = "infiniband-ndr", *, taper: float = 1.0) -> Network:
    """256 DGX H100 on rails: 32 nodes a leaf, 8 leaves a rail, 32 (or fewer) uplinks a leaf."""
    catalog = load_catalog()
    bundle = catalog.technology(technology)
    node = catalog.node("dgx-h100")
    design = Design(
        topology=RailFatTree(),
        num_nodes=256,
        num_gpus=2048,
        num_rails=8,
        num_planes=1,
        num_ports=2048,
        port_rate_bps=bundle.rate_bps,
        switch=catalog.switch(bundle.switch),
        radix=64,
        tiers=(Tier(name="leaf", num_switches=64, num_down=32, num_up=32),),
        stages=(),
        reaches=(
            reach("leaf", NODES_A_LEAF),
            reach(
                "spine",
                256,
                num_hops=3,
                num_paths=32,
                num_links=int(NODES_A_LEAF / taper),
                num_switches=64,
                taper=taper,
            ),
        ),
    )
    return Network(
        technology=bundle,
        design=design,
        node=node,
        gpu=catalog.gpu(node.gpu),
        nic=catalog.nic(node.nic),
        scale_up=catalog.scale_up(node.scale_up),
        loss=0.0,
    )


def test_a_group_in_one_leaf_meets_nobody() -> None:
    path = scale_out(two_tiers(), Group(size=256, per_node=8), "ring")
    assert (path.num_hops, path.slowdown) == (1, 1.0)
    # 8 NICs of 400 Gb/s, InfiniBand framing 4096 / 4122, 0.96 / 0.9937 of that by NCCL
    assert path.rate_bps == pytest.approx(8 * 400e9 * 0.96, rel=1e-3)


def test_ranks_that_share_a_node_share_its_nics() -> None:
    alone = scale_out(two_tiers(), Group(size=32, per_node=1), "ring")
    among = scale_out(two_tiers(), Group(size=32, per_node=1, active_per_node=8), "ring")
    assert alone.num_nics == among.num_nics == 1.0
    pair = scale_out(two_tiers(), Group(size=32, per_node=2, active_per_node=8), "ring")
    assert pair.rate_bps == pytest.approx(2 * among.rate_bps)


def test_more_ranks_than_nics_divide_them() -> None:
    network = two_tiers()
    few = replace(network, node=network.node.model_copy(update={"num_nics": 2}))
    path = scale_out(few, Group(size=32, per_node=1, active_per_node=8), "ring")
    assert path.num_nics == pytest.approx(2 / 8)


def test_a_packed_ring_crosses_the_spine_once_a_leaf_and_is_not_slowed() -> None:
    group = Group(size=2048, per_node=8)
    for technology in ("infiniband-ndr", "rocev2-400g"):
        path = scale_out(two_tiers(technology), group, "ring")
        assert path.num_hops == 3
        # One flow leaves each leaf of a rail (four thin ones over 32 links): nothing to collide.
        assert path.slowdown == 1.0


def test_hashing_slows_an_all_to_all_and_adaptive_routing_does_not_much() -> None:
    group = Group(size=2048, per_node=8)
    hashed = scale_out(two_tiers("rocev2-400g"), group, "all-to-all")
    adaptive = scale_out(two_tiers("infiniband-ndr"), group, "all-to-all")
    assert hashed.slowdown > 1.3
    assert adaptive.slowdown < 1.1


def test_interleaved_groups_leave_the_leaf_all_at_once() -> None:
    # Every 32nd node: each member stands on another leaf, and all 32 NICs of a leaf send up.
    strided = Group(size=64, per_node=8, node_stride=32)
    packed = Group(size=64, per_node=8)
    network = two_tiers("rocev2-400g")
    assert scale_out(network, packed, "ring").num_hops == 1
    assert scale_out(network, strided, "ring").num_hops == 3
    assert scale_out(network, strided, "ring").slowdown > 1.3


def test_a_displaced_node_adds_two_crossings() -> None:
    network = two_tiers("rocev2-400g")
    stay = scale_out(network, Group(size=256, per_node=8), "ring")
    moved = scale_out(network, Group(size=256, per_node=8, displaced=0.25), "ring")
    assert (stay.num_hops, moved.num_hops) == (1, 3)
    assert moved.slowdown >= stay.slowdown


def test_tapering_slows_what_really_goes_up() -> None:
    group = Group(size=2048, per_node=8)
    tapered = two_tiers("infiniband-ndr", taper=4.0)
    assert scale_out(tapered, group, "ring").slowdown == 1.0  # 1 in 32 hops goes up
    # 7/8 of the pairs lie beyond the leaf, at a quarter of the rate.
    assert scale_out(tapered, group, "all-to-all").slowdown == pytest.approx(3.5, rel=0.1)


def test_tcp_is_held_to_what_the_host_can_push() -> None:
    tcp = two_tiers("tcp-400g")
    path = scale_out(tcp, Group(size=256, per_node=8), "ring")
    assert tcp.technology.host_rate_bps is not None
    assert path.rate_bps <= 8 * tcp.technology.host_rate_bps


def test_loss_costs_go_back_n_more_than_selective_repeat() -> None:
    group = Group(size=256, per_node=8)

    def left(technology: str) -> float:
        network = two_tiers(technology)
        clean = scale_out(network, group, "ring").rate_bps
        return scale_out(replace(network, loss=1e-4), group, "ring").rate_bps / clean

    assert left("rocev2-400g") < left("uet-400g") < 1.0
