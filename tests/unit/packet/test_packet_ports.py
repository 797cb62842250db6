"""Endpoints with several ports: transfers are striped, sprayed packets choose, dead ports are left.

Hosts 0 and 1 hang on two switches, 2 and 3, by a port of 100 Gb/s each; every link takes 1 us.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from wires import transfers, wiring

from netloom.engines.flow import FlowSettings, run_flows
from netloom.engines.packet import (
    Ecn,
    PacketFault,
    PacketSettings,
    Recording,
    SwitchSettings,
    Transport,
    run_packets,
)
from netloom.fabric.wiring.ports import most_ports, num_ports, stripes, turns

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery
    from netloom.fabric.wiring.wiring import PacketTopology

US = 1_000_000
PLANES = wiring(2, [(0, 2), (1, 2), (0, 3), (1, 3)])
ONE_LEAF = wiring(2, [(0, 2), (1, 2), (0, 2), (1, 2)])
BARE = Transport(payload_bytes=1000, header_bytes=0, gap_bytes=0, least_bytes=0, ack_bytes=0)
PLAIN = PacketSettings(transport=BARE)
SPRAYED = PacketSettings(
    flow_control="trimming",
    spray="bitmap",
    congestion_control="nscc",
    ecn=Ecn(kmin_bytes=100_000, kmax_bytes=300_000, at_rate_bps=0),
    switch=SwitchSettings(buffer_bytes=1 << 30, queue_bytes=400_000, reserve_bytes=0),
    transport=replace(BARE, recovery="selective", timeout_ps=100 * US),
)
MEGABYTE = 1_000_000


def sent(delivery: Delivery, links: list[int]) -> list[int]:
    return [int(count) for count in delivery.link_bytes[links]]


@pytest.mark.parametrize("on", [PLANES, ONE_LEAF], ids=["two planes", "one leaf"])
def test_a_transfer_is_striped_over_both_ports(on: PacketTopology) -> None:
    # 500 packets of 1000 bytes on each port, 80 ns each; the last is stored once, 2 us there and
    # 2 back.
    run = run_packets(on, transfers([(0, 1)], MEGABYTE), PLAIN)
    assert run.finish_ps[0] == 500 * 80_000 + 80_000 + 4 * US
    assert sent(run, [0, 4]) == [MEGABYTE // 2] * 2
    assert sent(run, [3, 7]) == [MEGABYTE // 2] * 2


@pytest.mark.parametrize(("asked", "used"), [(1, 2), (2, 2), (3, 4), (8, 8)])
def test_every_port_has_as_many_connections(asked: int, used: int) -> None:
    pair = np.array([0]), np.array([1])
    assert stripes(PLANES, *pair, connections=asked) == used
    watch = Recording(max_trace=10_000)
    settings = replace(PLAIN, connections=asked)
    run = run_packets(PLANES, transfers([(0, 1)], 80_000), settings, watch=watch)
    trace = run.tables["trace"]
    assert len(np.unique(trace["connection"])) == used


def test_connections_of_a_pair_take_ports_in_turn_whatever_lies_between() -> None:
    source, target = np.array([0, 5, 0, 0, 5]), np.array([1, 1, 1, 2, 1])
    assert turns(source, target).tolist() == [0, 0, 1, 0, 1]


def test_ports_are_those_towards_the_target() -> None:
    there, back = np.array([0, 1]), np.array([1, 0])
    assert num_ports(PLANES, there, back).tolist() == [2, 2]
    assert most_ports(PLANES) == 2
    joined = wiring(2, [(0, 1), (0, 1), (0, 2), (1, 2)])  # a direct link before any other
    assert num_ports(joined, there, back).tolist() == [2, 2]


def test_flows_take_the_same_ports() -> None:
    for balance in ("ecmp", "static", "adaptive", "spray"):
        run = run_flows(
            PLANES, transfers([(0, 1)], MEGABYTE), FlowSettings(balance=balance, latency_ps=(0,))
        )
        assert run.finish_ps[0] == pytest.approx(40 * US + 2 * US, rel=1e-6), balance


@pytest.mark.parametrize("balance", ["ecmp", "d-mod-k", "adaptive"])
def test_ports_of_one_endpoint_have_routes_of_their_own(balance: str) -> None:
    # Two ports on a leaf whose two uplinks go to a spine each: d-mod-k sends each port its own way.
    cables = [(0, 2), (0, 2), (1, 3), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5)]
    run = run_packets(
        wiring(2, cables), transfers([(0, 1)], MEGABYTE), replace(PLAIN, balance=balance)
    )
    assert sent(run, [0, 2]) == [MEGABYTE // 2] * 2
    assert sent(run, [5, 7]) == [MEGABYTE // 2] * 2
    if balance != "ecmp":
        assert sent(run, [8, 10]) == [MEGABYTE // 2] * 2


@pytest.mark.parametrize("spray", ["oblivious", "bitmap", "retiring", "mixed"])
@pytest.mark.parametrize("on", [PLANES, ONE_LEAF], ids=["two planes", "one leaf"])
def test_a_sprayed_flow_fills_both_ports(on: PacketTopology, spray: str) -> None:
    settings = replace(SPRAYED, spray=spray, congestion_control="none")
    run = run_packets(on, transfers([(0, 1)], MEGABYTE), settings)
    assert run.finish_ps[0] == pytest.approx(500 * 80_000 + 80_000 + 4 * US, rel=0.02)
    for links in ([0, 4], [3, 7]):
        assert sent(run, links) == pytest.approx([MEGABYTE / 2] * 2, rel=0.02)


def test_answers_leave_by_the_port_that_was_heard_at() -> None:
    watch = Recording(max_trace=100_000)
    run = run_packets(PLANES, transfers([(0, 1)], 100_000), SPRAYED, watch=watch)
    trace = run.tables["trace"]
    answers = np.isin(trace["link"], [2, 6]) & (trace["form"] == "ack")
    by_plane = [np.count_nonzero(answers & (trace["link"] == link)) for link in (2, 6)]
    assert by_plane == [50, 50]


def test_a_sprayed_flow_leaves_a_port_that_dies() -> None:
    dies = [PacketFault(when_ps=0, kind="down", link=link) for link in (4, 5)]
    run = run_packets(PLANES, transfers([(0, 1)], MEGABYTE), SPRAYED, faults=dies)
    assert run.counters["timeouts"] == 0
    assert sent(run, [0, 4]) == [MEGABYTE, 0]
    assert run.finish_ps[0] == pytest.approx(1000 * 80_000, rel=0.1)


def test_connections_of_a_dead_port_move_to_the_other_and_come_back() -> None:
    # Cut after 10 us: what was under way is lost, and repeated after the timeout.
    faults = [PacketFault(when_ps=10 * US, kind="down", link=link) for link in (4, 5)]
    settings = replace(PLAIN, transport=replace(BARE, timeout_ps=50 * US))
    cut = run_packets(PLANES, transfers([(0, 1)], MEGABYTE), settings, faults=faults)
    assert not cut.partial
    assert sent(cut, [4])[0] < 150_000
    assert sent(cut, [0])[0] > 850_000
    late = 1_000 * US
    mended = [*faults, *(PacketFault(when_ps=500 * US, kind="up", link=link) for link in (4, 5))]
    both = transfers([(0, 1), (0, 1)], MEGABYTE, start_ps=[0, late])
    run = run_packets(PLANES, both, settings, faults=mended)
    assert run.finish_ps[1] - late == 500 * 80_000 + 80_000 + 4 * US


def test_an_endpoint_without_any_port_waits_for_one() -> None:
    down = [PacketFault(when_ps=0, kind="down", link=link) for link in (0, 1, 4, 5)]
    up = [PacketFault(when_ps=100 * US, kind="up", link=link) for link in (0, 1, 4, 5)]
    for settings in (PLAIN, SPRAYED):
        run = run_packets(PLANES, transfers([(0, 1)], 10_000), settings, faults=down + up)
        assert 100 * US < run.finish_ps[0] < 120 * US


def test_receivers_that_pull_ask_for_all_ports() -> None:
    pulled = replace(
        SPRAYED,
        congestion_control="none",
        transport=replace(SPRAYED.transport, recovery="pulled", pull_bytes=1000),
    )
    run = run_packets(PLANES, transfers([(0, 1)], MEGABYTE), pulled)
    assert run.finish_ps[0] == pytest.approx(500 * 80_000 + 4 * US, rel=0.1)
