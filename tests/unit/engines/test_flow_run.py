"""Whole runs against a plain simulator that works everything out again at every event."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import small
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.engines.flow import FlowSettings, run_flows
from netloom.engines.flow.phases import Phase, at_once, run_phases
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import lay
from netloom.engines.native import max_min_rates
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.edit import fail, slow
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from netloom.engines.flow.settings import Balance

RATE = small.RATE_BPS


def transfers(
    rows: list[tuple[int, int, int]], waits: dict[int, list[int]] | None = None
) -> Transfers:
    """Return transfers of (source, target, bytes); *waits* lists what some wait for."""
    needed = [(waits or {}).get(i, []) for i in range(len(rows))]
    plain = at_once(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64),
        size_bytes=np.array([row[2] for row in rows], dtype=np.int64),
        source_port=(0xC000 + np.arange(len(rows))).astype(np.uint16),
    )
    return Transfers(
        **{name: getattr(plain, name) for name in plain.__slots__ if "wait" not in name},
        wait_offsets=np.cumsum([0, *map(len, needed)], dtype=np.int64),
        waits=np.array([w for row in needed for w in row], dtype=np.int32),
    )


def plain_run(capacity: list[float], paths: list[list[int]], asked: Transfers) -> list[float]:
    """Return when each transfer ends, in seconds, working out all rates at every event."""
    count = len(asked)
    left = asked.size_bytes * 8.0
    finish = [math.inf] * count
    start = [0.0] * count
    bounds = asked.wait_offsets
    now = 0.0
    while any(math.isinf(end) for end in finish):
        active = []
        for i in range(count):
            needs = asked.waits[bounds[i] : bounds[i + 1]]
            start[i] = max([0.0, *(finish[w] for w in needs)])
            if math.isinf(finish[i]) and start[i] <= now:
                active.append(i)
        rates = max_min_rates(np.array(capacity), [paths[i] for i in active])
        step = min(left[i] / rate for i, rate in zip(active, rates, strict=True))
        now += step
        for i, rate in zip(active, rates, strict=True):
            left[i] -= rate * step
            if left[i] <= 1e-6:
                finish[i] = now
    return finish


@st.composite
def dags(draw: st.DrawFn) -> Transfers:
    rows = []
    for _ in range(draw(st.integers(1, 14))):
        source = draw(st.integers(0, 7))
        target = draw(st.integers(0, 6))
        rows.append((source, target + (target >= source), draw(st.integers(1, 5)) * 10**6))
    waits = {
        i: draw(st.lists(st.integers(0, i - 1), max_size=2, unique=True))
        for i in range(1, len(rows))
    }
    return transfers(rows, waits)


@given(dags())
@settings(max_examples=60)
def test_a_run_ends_when_a_plain_simulator_says(asked: Transfers) -> None:
    fabric = small.leaf_spine(2, 2, 4)
    laid = lay(ground(fabric), asked, FlowSettings())
    ways = laid.ways
    paths = [ways.links[a:b].tolist() for a, b in zip(ways.offsets, ways.offsets[1:], strict=False)]
    expected = plain_run(fabric.link_rate_bps.tolist(), paths, asked)
    found = run_flows(fabric, asked)
    np.testing.assert_allclose(found.finish_ps * 1e-12, expected, rtol=1e-9, atol=2e-12)
    assert not found.partial


def test_two_flows_into_one_port_take_twice_as_long() -> None:
    found = run_flows(small.leaf_spine(1, 1, 3), transfers([(0, 2, 10**9), (1, 2, 10**9)]))
    # 2 x 8e9 bits through 400 Gb/s: 40 ms.
    assert found.finish_ps.tolist() == [40_000_000_000] * 2
    held = found.tables["bottlenecks"]
    assert held["sharers"].tolist() == [2, 2]
    assert len(set(held["link"].tolist())) == 1


def test_latency_is_added_once_and_delays_what_waits() -> None:
    perfect = FlowSettings(latency_ps=(0, 5))
    asked = transfers([(0, 1, 50), (1, 2, 50)], {1: [0]})
    found = run_flows(small.leaf_spine(1, 1, 3), asked, perfect)
    # 400 bits at 400 Gb/s: 1000 ps, and 5 ps more to arrive, twice.
    assert found.start_ps.tolist() == [0, 1005]
    assert found.finish_ps.tolist() == [1005, 2010]


def test_connections_share_the_bytes_of_a_transfer() -> None:
    # One connection takes one of 8 spines; four hash apart, but all cross the same NIC.
    fabric = small.leaf_spine(2, 8, 1)
    asked = transfers([(0, 1, 10**9)])
    found = run_flows(fabric, asked, FlowSettings(flows_per_transfer=4))
    assert found.counters["flows"] == 4
    assert found.finish_ps[0] == pytest.approx(8e9 / RATE * 1e12, rel=1e-9)


@pytest.mark.parametrize("balance", ["adaptive", "spray", "cells"])
def test_a_split_flow_uses_every_spine_alike(balance: Balance) -> None:
    fabric = small.leaf_spine(2, 4, 4)
    asked = transfers([(i, 4 + i, 10**6) for i in range(4)])
    found = run_flows(fabric, asked, FlowSettings(balance=balance))
    up = [
        link
        for link in range(fabric.num_links)
        if fabric.vertex_tier[fabric.link_source[link]] == 1
        and fabric.vertex_tier[fabric.link_target[link]] == 2
    ]
    # Four flows, a quarter of each on each of the first leaf's four uplinks.
    assert sorted(found.link_bytes[up].tolist()) == [0] * 4 + [10**6] * 4
    assert found.finish_ps.tolist() == [20_000_000] * 4  # 8e6 bits at 400 Gb/s, uncontended


def test_flowlets_lie_between_one_hash_and_an_even_split() -> None:
    fabric = small.leaf_spine(2, 8, 16)
    asked = transfers([(i, 16 + i, 10**6) for i in range(16)])

    def end_ps(balance: Balance) -> int:
        return run_flows(fabric, asked, FlowSettings(balance=balance, flowlets=8)).simulated_ps

    assert end_ps("spray") < end_ps("flowlet") < end_ps("ecmp")


def test_headers_and_paths_take_their_share() -> None:
    fabric = small.leaf_spine(2, 1, 1)
    shares = FlowSettings(wire_share=0.5, path_share=0.8, nic_share=0.9)
    found = run_flows(fabric, transfers([(0, 1, 10**6)]), shares)
    # The uplink leaves 0.5 x 0.8 of 400 Gb/s, less than the NIC's 0.5 x 0.9.
    assert found.finish_ps[0] == pytest.approx(8e6 / (RATE * 0.4) * 1e12, rel=1e-9)
    assert found.link_bytes.max() == 2 * 10**6  # a byte of header with each byte of payload


def test_priorities_weigh() -> None:
    weights = (3.0, 1.0, *(1.0,) * 6)
    asked = transfers([(0, 2, 3 * 10**6), (1, 2, 10**6)])
    asked.priority[1] = 1
    found = run_flows(small.leaf_spine(1, 1, 3), asked, FlowSettings(priority_weights=weights))
    # 3:1 of 400 Gb/s: both end when 4e6 bytes are through.
    assert found.finish_ps.tolist() == [80_000_000] * 2


def test_utilisation_adds_up_to_the_bytes_sent() -> None:
    fabric = small.leaf_spine(2, 2, 4)
    asked = transfers([(i, 7 - i, 10**6 * (i + 1)) for i in range(4)])
    found = run_flows(fabric, asked, FlowSettings(num_bins=16))
    table = found.tables["utilisation"]
    step_s = float(np.diff(np.unique(table["from_ps"])).min()) * 1e-12
    used = np.bincount(table["link"], table["utilisation"], minlength=fabric.num_links)
    np.testing.assert_allclose(used * step_s * RATE / 8, found.link_bytes, rtol=1e-5, atol=1)
    assert table["utilisation"].max() <= 1 + 1e-6


def test_a_slowed_link_slows_what_crosses_it() -> None:
    fabric = small.leaf_spine(2, 1, 1)
    before = run_flows(fabric, transfers([(0, 1, 10**6)])).simulated_ps
    after = run_flows(slow(fabric, "spine:0", 4.0), transfers([(0, 1, 10**6)])).simulated_ps
    assert after == 4 * before


def test_a_run_can_be_stopped_and_says_so() -> None:
    asked = transfers([(0, 1, 10**6), (1, 2, 10**6)], {1: [0]})
    found = run_flows(small.leaf_spine(1, 1, 3), asked, until_ps=30_000_000)
    assert found.partial
    assert found.finish_ps.tolist() == [20_000_000, -1]
    assert found.simulated_ps == 30_000_000


def chain(length: int) -> Transfers:
    rows = [(i % 2, 1 - i % 2, 1000) for i in range(length)]
    return transfers(rows, {i: [i - 1] for i in range(1, length)})


def test_progress_is_told_and_can_stop_the_run() -> None:
    seen: list[tuple[int, int]] = []

    def stop_at_the_second(now_ps: int, num_done: int) -> bool:
        seen.append((now_ps, num_done))
        return len(seen) == 2

    found = run_flows(small.leaf_spine(1, 1, 2), chain(2000), on_progress=stop_at_the_second)
    assert found.partial
    assert seen[0] < seen[1]
    assert np.count_nonzero(found.finish_ps >= 0) == seen[1][1] < 2000


def test_an_error_in_the_progress_report_ends_the_run() -> None:
    def give_up(now_ps: int, num_done: int) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_flows(small.leaf_spine(1, 1, 2), chain(2000), on_progress=give_up)


def test_computation_before_a_transfer_counts_from_the_start_or_the_last_arrival() -> None:
    asked = transfers([(0, 1, 50), (1, 0, 50)], {1: [0]})
    asked = replace(asked, delay_ps=np.array([10, 20]), start_ps=np.array([5, 0]))
    found = run_flows(small.leaf_spine(1, 1, 2), asked)
    # 400 bits take 1000 ps: from 10 to 1010, and 20 ps later on.
    assert found.start_ps.tolist() == [10, 1030]


def test_another_seed_draws_other_paths_and_the_same_seed_the_same() -> None:
    fabric = small.leaf_spine(2, 8, 16)
    asked = transfers([(i, 16 + i, 10**6) for i in range(16)])
    ends = [run_flows(fabric, asked, seed=seed).finish_ps.tolist() for seed in (0, 1, 1)]
    assert ends[0] != ends[1]
    assert ends[1] == ends[2]


def test_a_phase_is_worked_out_once_and_multiplied() -> None:
    fabric = small.leaf_spine(2, 2, 4)
    ring = np.arange(8)
    phase = Phase(
        name="ring",
        source=ring,
        target=(ring + 1) % 8,
        source_port=np.full(8, 0xC000, dtype=np.uint16),
        size_bytes=np.full(8, 10**6),
        repeats=14,
    )
    once = run_phases(fabric, (phase,))
    rows = [(i, (i + 1) % 8, 10**6) for _ in range(14) for i in range(8)]
    waits = {8 * k + i: [8 * (k - 1) + j for j in range(8)] for k in range(1, 14) for i in range(8)}
    asked = transfers(rows, waits)
    asked = replace(asked, source_port=np.full(len(asked), 0xC000, dtype=np.uint16))
    assert once.duration_s == pytest.approx(run_flows(fabric, asked).simulated_ps * 1e-12)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (transfers([(0, 1, 1), (0, 1, 0)]), "transfer 1: 0 bytes"),
        (transfers([(0, 9, 1)]), "transfer 0: 9 is no target"),
        (transfers([(0, 1, 1), (1, 2, 1)], {0: [1], 1: [0]}), "transfer 0: waits for itself"),
    ],
)
def test_what_cannot_run_is_refused_by_name(asked: Transfers, match: str) -> None:
    with pytest.raises(SpecError, match=match):
        run_flows(small.leaf_spine(1, 1, 3), asked)


@pytest.mark.parametrize("balance", ["ecmp", "static", "spray"])
def test_a_partitioned_fabric_is_refused_naming_the_pair(balance: Balance) -> None:
    broken = fail(small.leaf_spine(2, 1, 2), "spine:0")
    with pytest.raises(InfeasibleError, match="gpu:0 to gpu:3: no path is left"):
        run_flows(broken, transfers([(0, 1, 1), (0, 3, 1)]), FlowSettings(balance=balance))


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(SpecError, match=r"nic_share: 1\.5 must lie between 0 and 1"):
        FlowSettings(nic_share=1.5)
    with pytest.raises(SpecError, match="flows_per_transfer: 0"):
        FlowSettings(flows_per_transfer=0)
