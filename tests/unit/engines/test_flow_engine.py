"""Collectives priced with every hop routed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import small

from netloom.engines.analytic.path import scale_out
from netloom.engines.flow import FlowSettings, Phase, held_back, run_phases
from netloom.engines.flow.contention import RoutedContention
from netloom.engines.flow.hops import _trees, gpu_hops, placed_nodes
from netloom.engines.flow.phases import at_once
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import deliver, lay
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.build import build
from netloom.fabric.edit import slow
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_named
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network

CATALOG = load_catalog()


def network(num_nodes: int, technology: str = "rocev2-400g") -> Network:
    return network_of(Cluster(nodes=num_nodes), CATALOG, technology=technology)


def hops(group: Group, pattern: str, num_nodes: int = 8) -> set[tuple[int, int]]:
    """Return (node, node) of rail 0."""
    built = network(num_nodes)
    found = gpu_hops(built, group, pattern, nodes=np.arange(num_nodes))  # type: ignore[arg-type]
    return {
        (int(s) // 8, int(t) // 8)
        for source, target, _ in found
        for s, t in zip(source, target, strict=True)
        if s % 8 == 0
    }


def test_rings_of_sibling_groups_lie_end_to_end() -> None:
    assert hops(Group(size=32, per_node=8), "ring") == {
        *((0, 1), (1, 2), (2, 3), (3, 0)),
        *((4, 5), (5, 6), (6, 7), (7, 4)),
    }


def test_a_strided_ring_goes_from_every_second_node_to_the_next() -> None:
    group = Group(size=32, per_node=8, node_stride=2)
    assert hops(group, "ring") == {
        *((0, 2), (2, 4), (4, 6), (6, 0)),
        *((1, 3), (3, 5), (5, 7), (7, 1)),
    }


def test_the_last_stage_of_a_pipeline_sends_to_nobody() -> None:
    group = Group(size=2, per_node=1, node_stride=2, span_nodes=8)
    assert hops(group, "pair") == {(0, 2), (2, 4), (4, 6), (1, 3), (3, 5), (5, 7)}


def test_an_all_to_all_reaches_every_partner_once() -> None:
    group = Group(size=32, per_node=8)
    pairs = hops(group, "all-to-all")
    assert pairs == {(a, b) for a in range(8) for b in range(8) if a != b and a // 4 == b // 4}


@pytest.mark.parametrize("members", [2, 3, 4, 5, 8, 13, 64])
def test_both_trees_span_all_members_and_burden_each_once(members: int) -> None:
    first, second = _trees(members)
    for parent in (first, second):
        assert np.count_nonzero(parent < 0) == 1
        for start in range(members):
            at, steps = start, 0
            while parent[at] >= 0:
                at, steps = int(parent[at]), steps + 1
                assert steps <= members
    children = [np.bincount(p[p >= 0], minlength=members) for p in (first, second)]
    assert max(c.max() for c in children) <= 2
    inner = (children[0] > 0) & (children[1] > 0)
    assert np.count_nonzero(inner) <= (2 if members % 2 == 0 else 3)


def test_displaced_nodes_change_places_and_the_rest_stay() -> None:
    built = network(64)
    group = Group(size=64, per_node=8, displaced=0.25)
    nodes = placed_nodes(built, group, seed=1)
    assert sorted(nodes) == list(range(64))
    assert np.count_nonzero(nodes != np.arange(64)) <= 16
    assert np.array_equal(nodes, placed_nodes(built, group, seed=1))


def test_more_ranks_than_gpus_are_refused() -> None:
    asked = Collective(
        kind=CollectiveKind.ALL_REDUCE, size_bytes=1e9, group=Group(size=1024, per_node=8)
    )
    with pytest.raises(InfeasibleError, match=r"group of 1,024: it spans 128 nodes, .* has 64"):
        engine_named("flow").run(asked, network(64))


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(SpecError, match="engine: there is no 'fluid'; use one of analytic, flow"):
        engine_named("fluid")


def test_hashing_slows_scattered_rings_about_as_much_as_the_closed_form_says() -> None:
    """Within 15 % of the mean over seeds, which spread about as much themselves."""
    built = network(128)
    group = Group(size=1024, per_node=8, displaced=1.0)
    closed = scale_out(built, group, "ring").slowdown
    drawn = [
        scale_out(built, group, "ring", contention=RoutedContention(seed)).slowdown
        for seed in range(6)
    ]
    assert len(set(drawn)) > 1
    assert np.mean(drawn) == pytest.approx(closed, rel=0.15)


def test_the_same_seed_gives_the_same_outcome_and_says_why() -> None:
    asked = Collective(
        kind=CollectiveKind.ALL_REDUCE,
        size_bytes=1e9,
        group=Group(size=512, per_node=8, displaced=0.5),
    )
    one, two = (engine_named("flow", seed=3).run(asked, network(64)) for _ in range(2))
    assert one.duration_s == two.duration_s
    assert "fullest link between switches" in str(one.why)


def test_equal_flows_end_when_the_events_say() -> None:
    """The closed form of a phase against the simulation of it."""
    fabric = small.clos3(4, 2, 2, 2, 2)
    rng = np.random.default_rng(5)
    source = np.repeat(np.arange(16), 4)
    target = (source + rng.integers(1, 16, len(source))) % 16
    ports = rng.integers(0xC000, 0x10000, len(source)).astype(np.uint16)
    for balance in ("ecmp", "spray", "flowlet"):
        settings = FlowSettings(balance=balance, latency_ps=(7,))
        phase = Phase(
            name="equal",
            source=source,
            target=target,
            source_port=ports,
            size_bytes=np.full(len(source), 10**6),
        )
        asked = at_once(source, target, size_bytes=10**6, source_port=ports)
        events = deliver(lay(ground(fabric), asked, settings))
        found = run_phases(fabric, (phase,), settings)
        assert found.duration_s * 1e12 == pytest.approx(events.simulated_ps, rel=1e-6)


def test_a_slow_transfer_names_its_link_and_its_company() -> None:
    asked = at_once(np.array([0, 1, 3]), np.array([2, 2, 1]), size_bytes=10**6)
    laid = lay(ground(small.leaf_spine(1, 1, 4)), asked, FlowSettings())
    found = held_back(laid, deliver(laid), 0)
    assert found.shared_with.tolist() == [1]
    assert found.rate_bps == pytest.approx(small.RATE_BPS / 2)
    assert found.capacity_bps == small.RATE_BPS
    assert held_back(laid, deliver(laid), 2).shared_with.tolist() == []


def leans(change: Callable[[Fabric], Fabric]) -> float:
    """Return the slowdown of a scattered ring over 2,048 GPUs after *change*, adaptively routed."""
    built = network_of(
        Cluster(nodes=256, fabric={"topology": {"kind": "rail-fat-tree", "tiers": 3}}),  # type: ignore[arg-type]
        CATALOG,
        technology="infiniband-ndr",
    )
    fabric = change(build(built.design, built.node, built.scale_up))
    group = Group(size=2_048, per_node=8, displaced=1.0)
    found = RoutedContention(0, fabric).slowdown(built, group, "ring", pace=0.95)
    assert isinstance(found.value, float)
    return found.value


def test_adaptive_traffic_leans_away_from_a_slow_switch() -> None:
    # Split evenly, the links of the slow core would take twice as long as NICs do; but it is one
    # of 32, and a ring in random order leaves the upper tier room for its share.
    assert leans(lambda fabric: fabric) == 1.0
    assert leans(lambda fabric: slow(fabric, "core:0", 4)) == pytest.approx(1.0, abs=1e-6)


def test_leaning_says_how_much_of_the_traffic_does() -> None:
    built = network_of(Cluster(nodes=256), CATALOG, technology="infiniband-ndr")
    fabric = slow(build(built.design, built.node, built.scale_up), "spine:0", 4)
    group = Group(size=2_048, per_node=8, displaced=1.0)
    found = RoutedContention(0, fabric).slowdown(built, group, "ring", pace=0.95)
    assert "leans away from hurt ways" in str(found)
