"""Routing what takes the same ways once, and one link for those that carry alike, change nothing.

The reference routes every transfer by itself and keeps every link of it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.engines.flow import split
from netloom.engines.flow.fans import Fans
from netloom.engines.flow.route_sets import RouteSets, route_sets
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import lay
from netloom.engines.flow.settings import settings_for
from netloom.engines.flow.ways import FlowPaths
from netloom.errors import InfeasibleError
from netloom.fabric.build import build
from netloom.fabric.graph import LinkState
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.parts.load import load_catalog
from netloom.study.networks import network_of
from netloom.study.simulate.flow import FlowRunner
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.flow.settings import FlowSettings
    from netloom.fabric.routing.flows import Flows
    from netloom.fabric.wiring.wiring import PacketTopology

CATALOG = load_catalog()
RATE_BPS = 400e9
UP = [True] * 9 + [False]


def every_link(wiring: PacketTopology, flows: Flows, **_: Any) -> FlowPaths:
    """Follow each flow by itself, all its ways at once."""
    fans = Fans.of(wiring)
    ways = [list(_steps(fans, int(a), int(b))) for a, b in zip(flows.source, flows.target)]  # noqa: B905
    entries = [entry for way in ways for entry in way]
    return FlowPaths(
        offsets=np.cumsum([0, *map(len, ways)]),
        links=np.array([link for link, _ in entries], dtype=np.int32),
        shares=np.array([share for _, share in entries], dtype=np.float32),
    )


def _steps(fans: Fans, source: int, target: int) -> Iterator[tuple[int, float]]:
    front = {source: 1.0}
    while front:
        reached: dict[int, float] = {}
        for at in sorted(front):
            begin, count, links = fans.fan(np.array([at]), np.array([target]))
            for link in links[int(begin[0]) : int(begin[0] + count[0])].tolist():
                yield link, front[at] / int(count[0])
                there = int(fans.wiring.link_target[link])
                reached[there] = reached.get(there, 0.0) + front[at] / int(count[0])
        front = {at: share for at, share in reached.items() if at != target}


def each_by_itself(*given_: Any, parts: int) -> RouteSets:
    """Return a set for each transfer; who shares a connection stays."""
    found = route_sets(*given_, parts=parts)
    one_each = np.arange(len(found.number))
    return RouteSets(parts=parts, first=one_each, number=one_each, connection=found.connection)


def run(
    network: Any, transfers: Transfers, behaviour: FlowSettings, *, reference: bool
) -> tuple[Delivery, NDArray[np.int64]]:
    with ExitStack() as stack:
        if reference:
            stack.enter_context(patch("netloom.engines.flow.routes.split_wired_ways", every_link))
            stack.enter_context(patch("netloom.engines.flow.run.route_sets", each_by_itself))
            stack.enter_context(patch.object(split._Segments, "grouped", lambda self, _: self))
        runner = FlowRunner(network=network, settings=behaviour)
        return runner.run(transfers, seed=1, until_ps=None, on_progress=None)


def assert_nothing_changes(network: Any, transfers: Transfers, behaviour: FlowSettings) -> None:
    try:
        expected, alone_ps = run(network, transfers, behaviour, reference=True)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            run(network, transfers, behaviour, reference=False)
        return
    found, found_alone_ps = run(network, transfers, behaviour, reference=False)
    assert found.start_ps.tolist() == expected.start_ps.tolist()
    assert found.finish_ps.tolist() == expected.finish_ps.tolist()
    assert found.link_bytes.tolist() == expected.link_bytes.tolist()
    assert found_alone_ps.tolist() == alone_ps.tolist()
    held, expected_held = (one.tables["bottlenecks"] for one in (found, expected))
    assert held["link"].tolist() == expected_held["link"].tolist()
    assert held["sharers"].tolist() == expected_held["sharers"].tolist()
    used, expected_used = (one.tables["utilisation"] for one in (found, expected))
    assert np.array_equal(used["link"], expected_used["link"])
    assert np.allclose(used["utilisation"], expected_used["utilisation"], atol=1e-6)


@st.composite
def wirings(draw: st.DrawFn) -> PacketTopology:
    """Two tiers or three, with parallel, slow and missing cables and hosts on several leaves."""
    leaves, spines = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    hosts, ports, beside = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    cores = draw(st.sampled_from([0, 0, 2]))
    num_hosts = leaves * hosts
    leaf0, spine0 = num_hosts, num_hosts + leaves
    core0 = spine0 + spines
    cables = [
        (host, leaf0 + (host // hosts + port // 2) % leaves)
        for host in range(num_hosts)
        for port in range(ports)
    ]
    cables += [
        (leaf0 + leaf, spine0 + spine)
        for leaf in range(leaves)
        for spine in range(spines)
        for _ in range(beside)
        if not cores or leaf % 2 == spine % 2  # pods, which the cores join
    ]
    cables += [(spine0 + spine, core0 + core) for spine in range(spines) for core in range(cores)]
    rates = st.sampled_from([RATE_BPS] * 8 + [RATE_BPS / 3, 2 * RATE_BPS])
    count = len(cables)
    lower, upper = np.array(cables).T
    return wire_up(
        CableList(
            lower=lower,
            upper=upper,
            rate_bps=np.array(draw(st.lists(rates, min_size=count, max_size=count))),
            delay_ps=np.array(
                draw(st.lists(st.sampled_from([500] * 9 + [777]), min_size=count, max_size=count))
            ),
            up=np.array(
                draw(
                    st.lists(st.sampled_from([True] * 9 + [False]), min_size=count, max_size=count)
                )
            ),
        ),
        num_endpoints=num_hosts,
        name=tuple(f"v{i}" for i in range(core0 + cores)),
        forward_ps=np.where(np.arange(core0 + cores) < num_hosts, 0, 300_000),
    )


def drawn_transfers(rng: np.random.Generator, count: int, num_hosts: int) -> Transfers:
    """Return transfers of random pairs, sizes and starts; some share a connection, some wait."""
    source = rng.integers(0, num_hosts, count)
    waits_for = rng.integers(0, np.arange(1, count + 1))  # itself, or one before it
    waiting = np.flatnonzero((waits_for < np.arange(count)) & (rng.random(count) < 0.3))
    offsets = np.zeros(count + 1, dtype=np.int64)
    offsets[waiting + 1] = 1
    return Transfers(
        source=source.astype(np.int32),
        target=((source + rng.integers(1, num_hosts, count)) % num_hosts).astype(np.int32),
        size_bytes=rng.choice([1, 5_000, 100_000, 1_234_567], count),
        start_ps=rng.choice([0, 0, 10**6, 10**7], count),
        delay_ps=rng.choice([0, 10**5], count),
        source_port=rng.integers(0xC000, 0xC004, count).astype(np.uint16),
        priority=rng.integers(0, 8, count).astype(np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.cumsum(offsets),
        waits=waits_for[waiting].astype(np.int32),
    )


@settings(max_examples=60, deadline=None)
@given(
    wirings(),
    st.integers(0, 2**32),
    st.integers(1, 60),
    st.sampled_from(["infiniband-ndr", "uet-400g", "rocev2-400g", "scheduled-400g"]),
)
def test_random_traffic_on_random_wirings_ends_at_the_same_picosecond(
    wiring: PacketTopology, seed: int, count: int, technology: str
) -> None:
    transfers = drawn_transfers(np.random.default_rng(seed), count, wiring.num_endpoints)
    behaviour = settings_for(CATALOG.technology(technology), wired=True)
    weights = (1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 3.0, 1.0)
    assert_nothing_changes(wiring, transfers, replace(behaviour, priority_weights=weights))


@pytest.mark.parametrize("technology", ["infiniband-ndr", "uet-400g"])
def test_sparse_traffic_on_a_fabric_ends_at_the_same_picosecond(technology: str) -> None:
    """Above 8,192 GPUs flows run on the fabric; here a small one, its links partly slow or gone."""
    topology = {"kind": "fat-tree", "tiers": 3, "hosts_per_leaf": 4}
    cluster = {"gpus": 256, "fabric": {"technology": technology, "topology": topology}}
    scenario = nl.load({"cluster": cluster, "traffic": [{"kind": "permutation", "size": "1MB"}]})
    network = network_of(scenario.cluster, CATALOG)
    fabric = build(network.design, network.node, network.scale_up)
    rng = np.random.default_rng(7)
    on = ground(fabric)
    between = np.flatnonzero(~(on.is_edge | on.is_host | on.is_scale_up))
    cables = between[between % 2 == 0]
    slow = rng.choice(cables, 4, replace=False)
    slowdown, state = fabric.link_slowdown.copy(), fabric.link_state.copy()
    for cable in slow[:2]:
        slowdown[cable] = slowdown[cable ^ 1] = 3.0
    for cable in slow[2:]:
        state[cable] = state[cable ^ 1] = LinkState.DOWN
    hurt = replace(fabric, link_slowdown=slowdown, link_state=state)
    transfers = drawn_transfers(rng, 200, 256)
    assert_nothing_changes(hurt, transfers, settings_for(CATALOG.technology(technology)))


def full_tree(half: int) -> PacketTopology:
    """Return a leaf-spine of half^2 x 2 hosts in which nothing is slow."""
    leaves, hosts = 2 * half, 2 * half * half
    cables = [(host, hosts + host // half) for host in range(hosts)]
    cables += [(hosts + leaf, hosts + leaves + up) for leaf in range(leaves) for up in range(half)]
    lower, upper = np.array(cables).T
    count = len(cables)
    return wire_up(
        CableList(
            lower=lower,
            upper=upper,
            rate_bps=np.full(count, RATE_BPS),
            delay_ps=np.full(count, 500),
            up=np.ones(count, dtype=np.bool_),
        ),
        num_endpoints=hosts,
        name=tuple(f"v{i}" for i in range(hosts + leaves + half)),
        forward_ps=np.zeros(hosts + leaves + half, dtype=np.int64),
    )


def all_pairs(num_hosts: int) -> Transfers:
    source, target = np.divmod(np.arange(num_hosts**2), num_hosts)
    apart = source != target
    return drawn_ends(source[apart], target[apart])


def drawn_ends(source: NDArray[np.int64], target: NDArray[np.int64]) -> Transfers:
    zero = np.zeros(len(source), dtype=np.int64)
    return Transfers(
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        size_bytes=zero + 100_000,
        start_ps=zero,
        delay_ps=zero,
        source_port=(zero + 0xC000).astype(np.uint16),
        priority=zero.astype(np.uint8),
        job=zero.astype(np.int32),
        wait_offsets=np.zeros(len(source) + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )


@pytest.mark.parametrize("half", [2, 4, 8])
def test_links_on_ways_do_not_grow_with_the_width_of_a_tree(half: int) -> None:
    """Two end links a flow; across leaves, one group up and one down, however many spines."""
    wiring = full_tree(half)
    transfers = all_pairs(wiring.num_endpoints)
    behaviour = settings_for(CATALOG.technology("infiniband-ndr"), wired=True)
    ways = lay(ground(wiring), transfers, behaviour).ways
    inside = transfers.source // half == transfers.target // half
    assert np.diff(ways.offsets).tolist() == np.where(inside, 2, 4).tolist()
    assert set(ways.times.tolist()) == {1, half}


def test_one_slow_cable_stands_by_itself() -> None:
    wiring = full_tree(4)
    slow = wiring.link_rate_bps.copy()
    cable = 2 * (wiring.num_endpoints + 1)  # the second up-link of the first leaf
    slow[cable] /= 2
    wiring = replace(wiring, link_rate_bps=slow)
    behaviour = settings_for(CATALOG.technology("infiniband-ndr"), wired=True)
    ways = lay(ground(wiring), all_pairs(wiring.num_endpoints), behaviour).ways
    assert ways.group[cable] == cable
    assert np.count_nonzero(ways.group == cable) == 1
    assert set(ways.times.tolist()) == {1, 3, 4}
    assert_nothing_changes(wiring, all_pairs(wiring.num_endpoints), behaviour)


def test_messages_of_one_connection_are_routed_once() -> None:
    wiring = full_tree(2)
    few = drawn_ends(np.zeros(100, dtype=np.int64), np.full(100, 7))
    behaviour = settings_for(CATALOG.technology("rocev2-400g"), wired=True)
    laid = lay(ground(wiring), few, behaviour)
    assert len(laid.ways) == behaviour.flows_per_transfer == 4
    assert laid.connection.tolist() == [0] * 100
    assert_nothing_changes(wiring, few, behaviour)


def test_connections_of_a_transfer_that_share_all_links_are_one_class() -> None:
    wiring = full_tree(2)
    near = drawn_ends(np.array([0]), np.array([1]))  # on one leaf: four connections, one way
    behaviour = settings_for(CATALOG.technology("rocev2-400g"), wired=True)
    found, _ = run(wiring, near, behaviour, reference=False)
    assert (found.counters["flows"], found.counters["classes"]) == (4, 1)
    assert found.tables["bottlenecks"]["sharers"].tolist() == [4]
