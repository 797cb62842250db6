"""Pauses and credits: enough room never drops, too little does, and circles are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import star, transfers, wiring

from netloom.engines.packet import (
    Credits,
    PacketFault,
    PacketSettings,
    Pfc,
    Recording,
    SwitchSettings,
    Transport,
    run_packets,
)
from netloom.errors import InfeasibleError
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import SimulationCase, run_case

# Two hosts of 100 Gb/s send into a third one's port, so the switch must pause both.
PAIR = [(0, 2), (1, 2)]


def pausing(headroom_bytes: int) -> PacketSettings:
    # 200 kB of buffer less headroom and reserve: each ingress pauses early.
    return PacketSettings(
        switch=SwitchSettings(buffer_bytes=300_000, reserve_bytes=0, alpha=0.125),
        pfc=Pfc(headroom_bytes=headroom_bytes, response_ps=200_000),
    )


def test_two_senders_are_paused_and_nothing_is_lost() -> None:
    delivery = run_packets(star(3), transfers(PAIR, 2_000_000), pausing(-1))
    assert delivery.counters["pauses"] > 0
    assert delivery.counters["drops"] == 0
    assert not delivery.partial
    pauses = delivery.tables["pauses"]
    assert set(pauses["link"].tolist()) == {0, 2}
    begin, end = (pauses[name].astype(np.int64) for name in ("begin_ps", "end_ps"))
    total = (end - begin)[end >= 0].sum()
    assert total == delivery.counters["pause_ps"]


def test_pauses_are_as_long_at_a_rate_that_does_not_divide_a_byte() -> None:
    # 90 Gb/s: a byte takes 88.9 ps, and all 65,535 quanta of 512 bits 372.8 us. The port never
    # rests: 976 packets of 4178 bytes, and two shorter ones.
    delivery = run_packets(star(3, rate_bps=90e9), transfers(PAIR, 2_000_000), pausing(-1))
    assert delivery.counters["pauses"] > 0
    assert delivery.counters["drops"] == 0
    drain_s = (2 * 488 * 4178 + 2 * (2_000_000 - 488 * 4096 + 82)) * 8 / 90e9
    assert delivery.finish_ps.max() * 1e-12 == pytest.approx(drain_s, rel=0.02)


@pytest.mark.parametrize(("missing_bytes", "drops"), [(0, 0), (1, 1)])
def test_headroom_is_just_enough_and_one_byte_less_drops(missing_bytes: int, drops: int) -> None:
    # Host 1 accepts nothing, so the switch fills. Packet k, of 4158 bytes, is there after k packet
    # times of 334,240 ps and 1 us. The pause that it draws leaves at once (84 bytes, 6,720 ps),
    # takes 1 us and 200 ns of response: silence 2,206,720 ps after packet k + 1 had begun, at k
    # packet times. Until then packets k + 1 to k + 7 begin; with packet k, which crossed the
    # threshold and is the first to need headroom, these are 8 x 4158 bytes.
    settings = pausing(8 * 4158 - missing_bytes)
    fault = PacketFault(when_ps=0, kind="pause", link=3)
    delivery = run_packets(
        star(2), transfers([(0, 1)], 2_000_000), settings, faults=[fault], until_ps=70_000_000
    )
    assert delivery.counters["pauses"] == 2  # the fault's and the switch's
    assert delivery.counters["drops"] == drops


def test_headroom_that_fills_the_buffer_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="headroom"):
        run_packets(star(3), transfers(PAIR, 1), pausing(100_000))


def ring(priorities: int = 1) -> tuple[object, object]:
    """Three switches in a circle; each one's host sends to the host two switches on, clockwise."""
    cables = [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)]
    circle = wiring(3, cables)
    choices, offsets, links = circle.choices.copy(), [0, 0], []
    clockwise = {3: 6, 4: 8, 5: 10}
    for vertex in range(6):
        for goal in range(3):
            choices[vertex, goal] = len(offsets) - 1
            links.append(2 * vertex if vertex < 3 else clockwise[vertex])
            offsets.append(len(links))
    around = replace(
        circle,
        choices=choices,
        offsets=np.array(offsets, dtype=np.int64),
        links=np.array(links, dtype=np.int32),
    )
    return around, transfers([(0, 2), (1, 0), (2, 1)], 20_000_000)


@pytest.mark.parametrize("control", ["pfc", "credits"])
def test_a_circle_of_full_buffers_is_found_and_its_links_named(control: str) -> None:
    around, work = ring()
    settings = PacketSettings(
        flow_control=control,
        switch=SwitchSettings(buffer_bytes=500_000, reserve_bytes=0),
        credits=Credits(buffer_bytes=16_384, update_bytes=64),
        transport=Transport(ack_on_data_lane=control == "credits"),
    )
    watch = Recording(deadlock_every_ps=100_000_000)
    delivery = run_packets(around, work, settings, watch=watch, until_ps=100_000_000_000)  # type: ignore[arg-type]
    assert delivery.partial
    assert delivery.stuck == "deadlock"
    assert delivery.counters["deadlocks"] == 1
    assert sorted(delivery.tables["deadlock"]["link"].tolist()) == [6, 8, 10]


def test_who_reads_the_results_is_told_of_the_circle() -> None:
    around, work = ring()
    settings = PacketSettings(switch=SwitchSettings(buffer_bytes=500_000, reserve_bytes=0))
    runner = PacketRunner(wiring=around, settings=settings)  # type: ignore[arg-type]
    case = SimulationCase(title="ring", technology="none", runner=runner, traffic=lambda _: work)  # type: ignore[arg-type,return-value]
    (note,) = run_case(case).notes
    assert note.startswith("seed 0: credit-loop deadlock through v3->v4")
    assert all(link in note for link in ("v3->v4", "v4->v5", "v5->v3"))


def test_the_watchdog_breaks_a_circle() -> None:
    around, work = ring()
    settings = PacketSettings(
        switch=SwitchSettings(buffer_bytes=500_000, reserve_bytes=0),
        pfc=Pfc(watchdog_ps=200_000_000, restore_ps=200_000_000),
        transport=Transport(timeout_ps=1_000_000_000),
    )
    watch = Recording(deadlock_every_ps=100_000_000)
    delivery = run_packets(around, work, settings, watch=watch, until_ps=200_000_000_000)  # type: ignore[arg-type]
    assert delivery.counters["watchdogs"] > 0
    assert delivery.counters["drops"] > 0
    assert not delivery.partial


def test_a_nic_that_pauses_for_ever_stops_its_link_alone() -> None:
    work = transfers([(0, 1), (2, 3)], 1_000_000)
    fault = PacketFault(when_ps=1_000_000, kind="pause", link=3)
    delivery = run_packets(star(4), work, PacketSettings(), faults=[fault], until_ps=1_000_000_000)
    assert delivery.finish_ps[0] == -1
    assert delivery.finish_ps[1] > 0


def test_a_pause_runs_out_after_its_quanta() -> None:
    # With quanta of one frame time refreshes hold the peer nevertheless: nothing is lost.
    settings = replace(pausing(-1), pfc=Pfc(quanta=70, response_ps=0))
    delivery = run_packets(star(3), transfers(PAIR, 1_000_000), settings)
    assert delivery.counters["drops"] == 0
    assert delivery.counters["pause_frames"] > delivery.counters["pauses"]
