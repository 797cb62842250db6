"""Equal components run once give the picoseconds of the whole run, and no others are folded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.engines.packet import PacketSettings, SwitchSettings, run_packets
from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.known.folded_run import run_folded
from netloom.engines.packet.known.symmetry import fold
from netloom.engines.packet.settings import Ecn
from netloom.fabric.wiring.wiring import PacketTopology
from netloom.workload.dag import Dag, Label, beside, to_transfers
from netloom.workload.exchange import ring

if TYPE_CHECKING:
    from netloom.workload.transfers import Transfers

CREDITS = PacketSettings(flow_control="credits")
PAUSES = PacketSettings(flow_control="pfc")


def rails(
    num_rails: int, num_hosts: int, *, num_spines: int = 0, slow_link: int = -1
) -> PacketTopology:
    """Return switches, one a rail, with *num_hosts* each; or two a rail, joined by shared spines.

    Host h of rail r is endpoint h * num_rails + r.
    """
    leaves = 2 if num_spines else 1
    ends = num_rails * num_hosts
    leaf = [ends + rail * leaves + half for rail in range(num_rails) for half in range(leaves)]
    cables = []
    for host in range(num_hosts):
        for rail in range(num_rails):
            half = host * leaves // num_hosts
            cables.append((host * num_rails + rail, leaf[rail * leaves + half]))
    first_spine = ends + len(leaf)
    cables += [(one, first_spine + spine) for one in leaf for spine in range(num_spines)]
    return wired(ends, cables, slow_link)


def wired(ends: int, cables: list[tuple[int, int]], slow_link: int = -1) -> PacketTopology:
    """Return endpoints and switches joined by *cables*, with every shortest way to choose from."""
    vertices = max(max(pair) for pair in cables) + 1
    source = np.array([v for a, b in cables for v in (a, b)], dtype=np.int32)
    target = np.array([v for a, b in cables for v in (b, a)], dtype=np.int32)
    offsets, links = [0, 0], []
    choices = np.zeros((vertices, ends), dtype=np.int32)
    for goal in range(ends):
        far = np.full(vertices, 99)
        far[goal] = 0
        for _ in range(6):
            through = far[target] + 1
            through[(target < ends) & (target != goal)] = 99
            np.minimum.at(far, source, through)
        for vertex in range(vertices):
            best = [
                link
                for link in np.flatnonzero(source == vertex).tolist()
                if far[target[link]] == far[vertex] - 1 and far[vertex] < 99
            ]
            if vertex != goal and best:
                choices[vertex, goal] = len(offsets) - 1
                links += best
                offsets.append(len(links))
    rate = np.full(len(source), 100e9)
    if slow_link >= 0:
        rate[slow_link] = 50e9
    return PacketTopology(
        num_endpoints=ends,
        name=tuple(f"v{v}" for v in range(vertices)),
        link_source=source,
        link_target=target,
        link_rate_bps=rate,
        link_delay_ps=np.full(len(source), 500_000, dtype=np.int64),
        link_scale_up=np.zeros(len(source), dtype=bool),
        forward_ps=np.where(np.arange(vertices) < ends, 0, 100_000).astype(np.int64),
        goal=np.arange(ends, dtype=np.int32),
        choices=choices,
        offsets=np.array(offsets, dtype=np.int64),
        links=np.array(links, dtype=np.int32),
    )


def rings(num_rails: int, num_hosts: int, size_bytes: int, *, gap_ps: int = 0) -> Transfers:
    """Return an all-reduce round each rail's hosts after computation that all rails wait for."""
    hosts = np.arange(num_hosts, dtype=np.int64) * num_rails
    dags = [ring("all-reduce", [hosts + rail], size_bytes) for rail in range(num_rails)]
    both = beside(dags)
    none = np.zeros(1, dtype=np.int64)
    start = Dag.of(none, none + num_rails, 0)
    start.delay_ps[:] = gap_ps
    whole = beside([start, both])
    begins = np.ones(len(whole), dtype=bool)
    begins[whole.waiter] = False
    begins[0] = False
    roots = np.flatnonzero(begins)
    whole = replace(
        whole,
        waiter=np.concatenate([whole.waiter, roots]),
        waited=np.concatenate([whole.waited, np.zeros(len(roots), dtype=np.int64)]),
    )
    return to_transfers([whole], [Label()], rng=np.random.default_rng(0))


def equal(
    wiring: PacketTopology, work: Transfers, how: PacketSettings, *faults: PacketFault
) -> tuple[int, int]:
    """Check that the folded run is the whole run to the picosecond; return parts and those run."""
    folded = fold(wiring, work, how, faults)
    whole = run_packets(wiring, work, how, faults=faults)
    found = run_folded(wiring, work, how, folded, faults=faults)
    np.testing.assert_array_equal(found.start_ps, whole.start_ps)
    np.testing.assert_array_equal(found.finish_ps, whole.finish_ps)
    arrived, expected = (one.tables["arrivals"]["arrive_ps"] for one in (found, whole))
    np.testing.assert_array_equal(arrived, expected)
    np.testing.assert_array_equal(found.link_bytes, whole.link_bytes)
    return folded.num_components, folded.num_kept


@settings(max_examples=25, deadline=None)
@given(
    num_rails=st.integers(2, 5),
    num_hosts=st.integers(2, 5),
    size_bytes=st.integers(100, 300_000),
    how=st.sampled_from([CREDITS, PAUSES, replace(PAUSES, connections=4)]),
    gap_ps=st.integers(0, 10_000_000),
)
def test_one_rail_stands_for_all(
    num_rails: int, num_hosts: int, size_bytes: int, how: PacketSettings, gap_ps: int
) -> None:
    work = rings(num_rails, num_hosts, size_bytes, gap_ps=gap_ps)
    assert equal(rails(num_rails, num_hosts), work, how) == (num_rails, 1)


@settings(max_examples=15, deadline=None)
@given(
    num_rails=st.integers(2, 4),
    slow=st.integers(0, 1000),
    how=st.sampled_from([CREDITS, PAUSES]),
    size_bytes=st.integers(5_000, 100_000),
)
def test_a_slow_link_makes_its_rail_another(
    num_rails: int, slow: int, how: PacketSettings, size_bytes: int
) -> None:
    plain = rails(num_rails, 3)
    network = rails(num_rails, 3, slow_link=slow % plain.num_links)
    parts, kept = equal(network, rings(num_rails, 3, size_bytes), how)
    assert (parts, kept) == (num_rails, 2)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), how=st.sampled_from([CREDITS, PAUSES]))
def test_random_traffic_is_folded_rightly_or_not_at_all(seed: int, how: PacketSettings) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    rail, source, other = rng.integers(0, 3, (3, count))
    target = (source + 1 + other % 2) % 3
    size = rng.choice([1, 4_096, 10_000], count)
    start = rng.choice([0, 1_000], count)
    dag = Dag.of(source * 3 + rail, target * 3 + rail, size, connection=np.arange(count))
    dag.start_ps[:] = start
    equal(rails(3, 3), to_transfers([dag], [Label()], rng=rng), how)


def test_rails_that_share_spines_fold_with_credits_and_static_routes() -> None:
    network = rails(4, 4, num_spines=2)
    static = replace(CREDITS, balance="d-mod-k")
    parts, kept = equal(network, rings(4, 4, 50_000), static)
    assert parts == 4
    assert kept < 4


def test_rails_that_share_a_buffer_in_a_spine_are_one_component() -> None:
    static = replace(PAUSES, balance="d-mod-k")
    assert equal(rails(4, 4, num_spines=2), rings(4, 4, 50_000), static) == (1, 1)


def test_hashed_paths_are_never_equal() -> None:
    network = rails(4, 4, num_spines=2)
    folded = fold(network, rings(4, 4, 50_000), replace(CREDITS, balance="ecmp"))
    assert "hashed" in folded.reason


def test_a_fault_on_one_rail_leaves_the_others_equal() -> None:
    fault = PacketFault(when_ps=1_000_000, kind="rate", link=0, rate_bps=10e9)
    assert equal(rails(4, 3), rings(4, 3, 50_000), CREDITS, fault) == (4, 2)


def test_losses_are_drawn_and_so_nothing_is_folded() -> None:
    fault = PacketFault(when_ps=0, kind="loss", link=0, loss=0.01)
    folded = fold(rails(2, 3), rings(2, 3, 50_000), CREDITS, [fault])
    assert "drawn" in folded.reason


def test_a_run_that_draws_marks_is_run_in_full() -> None:
    # Two senders into one port, marked from the first byte on: every rail draws its own.
    marks = replace(PAUSES, ecn=Ecn(kmin_bytes=1, kmax_bytes=10_000_000, pmax=0.5))
    source = np.array([0, 2, 1, 3], dtype=np.int64)
    target = np.array([4, 4, 5, 5], dtype=np.int64)
    dag = Dag.of(source, target, 400_000, connection=np.arange(4))
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(1))
    network = rails(2, 3)
    folded = fold(network, work, marks)
    assert (folded.num_components, folded.num_kept) == (2, 1)
    found = run_folded(network, work, marks, folded)
    whole = run_packets(network, work, marks)
    np.testing.assert_array_equal(found.finish_ps, whole.finish_ps)
    assert whole.num_draws > 0
    assert "drawn" in found.notes[0]
    assert found.simulated_share == pytest.approx(1.0)


def test_a_shared_buffer_of_its_own_for_each_rail_does_not_join_them() -> None:
    how = replace(PAUSES, switch=SwitchSettings(ingress_bytes=500_000))
    assert equal(rails(3, 3), rings(3, 3, 90_000), how) == (3, 1)
