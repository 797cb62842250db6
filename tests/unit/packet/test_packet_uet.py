"""Ultra Ethernet's ways: windows that lapse, pulls below line rate, marks about paths alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wires import leaf_spine, star, transfers

from netloom.engines.packet import (
    Ecn,
    PacketFault,
    PacketSettings,
    SwitchSettings,
    Transport,
    run_packets,
    settings_for,
)
from netloom.parts.load import load_catalog

US = 1_000_000
# 100 Gb/s and links of 1 us: 4150 bytes take 332 ns, 64 take 5.12 ns. Out and back over two links:
# 4.67 us, in which 14 packets leave; a first window is 1.5 times that, 21.
PULLED = PacketSettings(
    flow_control="trimming",
    switch=SwitchSettings(buffer_bytes=1 << 40, queue_bytes=400_000, reserve_bytes=0),
    transport=Transport(
        recovery="pulled",
        payload_bytes=4086,
        header_bytes=64,
        gap_bytes=0,
        ack_bytes=64,
        ack_every_bytes=16_384,
        timeout_ps=1_000 * US,
        pull_bytes=4 * 4086,
    ),
)
LAPSES = replace(PULLED, transport=replace(PULLED.transport, first_window_lapses=True))


def test_a_first_window_that_lapses_sends_a_round_trip_and_no_more_unasked() -> None:
    # Whole first windows are 4 x 21 packets, all sent. The first packet out has its answer after
    # 4.67 us and its own 0.332, when 15 have left: 6 fewer from each sender that are trimmed.
    moved = transfers([(i, 4) for i in range(4)], 100 * 4086)
    small = SwitchSettings(buffer_bytes=1 << 40, queue_bytes=20 * 4150, reserve_bytes=0)
    whole, lapsed = (
        run_packets(star(5), moved, replace(settings, switch=small)).counters["retransmissions"]
        for settings in (PULLED, LAPSES)
    )
    assert lapsed < 0.7 * whole
    assert whole - lapsed == pytest.approx(4 * 6, abs=4)


@pytest.mark.parametrize("num_packets", range(1, 30))
def test_a_transfer_of_any_length_about_the_first_window_is_pulled_to_its_end(
    num_packets: int,
) -> None:
    # Longer than the round trip, the first window lapses with packets unsent that nobody has asked
    # for; a receiver with nobody else to serve grants them all the same.
    delivery = run_packets(star(2), transfers([(0, 1)], num_packets * 4086), LAPSES)
    assert not delivery.partial
    assert delivery.counters["timeouts"] == 0
    assert delivery.counters["retransmissions"] == 0
    # A packet on each of two links, the rest at line rate, the answer back; pulls leave before it.
    ideal_us = (num_packets + 1) * 0.332 + 2 + 2.01
    assert delivery.finish_ps[0] / 1e6 == pytest.approx(ideal_us, abs=0.01)


def test_a_receiver_that_asks_for_half_its_rate_gets_it_in_twice_the_time() -> None:
    halved = replace(LAPSES, transport=replace(LAPSES.transport, pull_share=0.5))
    moved = transfers([(0, 1)], 1_000 * 4086)
    took_us = run_packets(star(2), moved, halved).finish_ps[0] / 1e6
    assert took_us == pytest.approx(2 * 1_000 * 0.332, rel=0.02)


def test_marks_about_paths_are_not_set_at_the_receivers_port() -> None:
    marks = Ecn(kmin_bytes=8_300, kmax_bytes=33_200, pmax=1.0, at_rate_bps=0, to_endpoints=False)
    settings = replace(LAPSES, ecn=marks)
    moved = transfers([(i, 4) for i in range(4)], 100 * 4086)
    assert run_packets(star(5), moved, settings).counters["marks"] == 0
    everywhere = replace(settings, ecn=replace(marks, to_endpoints=True))
    assert run_packets(star(5), moved, everywhere).counters["marks"] > 0
    # Four hosts of a leaf share one uplink: it marks.
    tree = leaf_spine(2, 4, 1)
    apart = transfers([(i, 4 + i) for i in range(4)], 100 * 4086)
    assert run_packets(tree, apart, settings).counters["marks"] > 0


def test_a_window_is_not_held_by_packets_whose_arrival_was_counted() -> None:
    # A taper of four: three of four packets of the first window are trimmed, and answers name the
    # 64 packets about the one that they answer. Senders that waited for names stalled for timeouts.
    settings = PacketSettings(
        flow_control="trimming",
        congestion_control="nscc-unscaled",
        spray="mixed",
        ecn=Ecn(kmin_bytes=25 * 4150, kmax_bytes=75 * 4150, pmax=1.0, at_rate_bps=0),
        switch=SwitchSettings(buffer_bytes=1 << 40, queue_bytes=100 * 4150, reserve_bytes=0),
        transport=replace(PULLED.transport, recovery="selective", timeout_ps=65 * US),
    )
    tree = leaf_spine(4, 32, 8, rate_bps=400e9)
    moved = transfers([(i, (i + 37) % 128) for i in range(128)], 1_000_000)
    delivery = run_packets(tree, moved, settings)
    assert delivery.counters["trims"] > 5_000
    assert delivery.counters["timeouts"] == 0


ALL = 1 - 2**-40  # as good as
SENT = replace(
    PULLED,
    congestion_control="nscc",
    transport=replace(PULLED.transport, recovery="selective", timeout_ps=100 * US),
)


def test_a_lost_packet_is_repeated_a_timeout_after_its_own_departure() -> None:
    # Packet n leaves at 0.332 n us and has come over both links at 0.332 (n + 2) + 2. What comes
    # between 3 and 3.33 us is lost: number 2, at 3.328.
    down = 3  # host 1 is cable 1; the switch sends to it by link 3
    faults = [
        PacketFault(when_ps=3 * US, kind="loss", link=down, loss=ALL),
        PacketFault(when_ps=3 * US + 330_000, kind="loss", link=down, loss=0.0),
    ]
    moved = transfers([(0, 1)], 100 * 4086)
    delivery = run_packets(star(2), moved, SENT, faults=faults)
    assert delivery.counters["retransmissions"] == delivery.counters["timeouts"] == 1
    # Nothing else is out by then: two packets' times and four links, and two answers' times.
    again_ps = 2 * 332_000 + 100 * US
    assert delivery.finish_ps[0] == again_ps + 2 * 332_000 + 4 * US + 2 * 5_120


def test_packets_lost_apart_are_repeated_apart() -> None:
    # Two such losses, 8 us apart. Answers to others come all the time, and the second is repeated
    # 8 us after the first.
    faults = [
        PacketFault(when_ps=when_us * US + late_ps, kind="loss", link=3, loss=loss)
        for when_us in (3, 11)
        for late_ps, loss in ((0, ALL), (330_000, 0.0))
    ]
    moved = transfers([(0, 1)], 100 * 4086)
    delivery = run_packets(star(2), moved, SENT, faults=faults)
    assert delivery.counters["timeouts"] == 2
    # What comes between 11 and 11.33 us is number 26: 0.332 x 28 + 2 = 11.296.
    again_ps = 26 * 332_000 + 100 * US
    assert delivery.finish_ps[0] == again_ps + 2 * 332_000 + 4 * US + 2 * 5_120


def test_a_sender_answers_for_the_path_that_lost_its_packet() -> None:
    # One of eight spines loses all. A sender that heeds nothing loses an eighth of 4,000 packets
    # and of their repetitions: 500 x 8 / 7. One that avoids what it lost by for 15 turns loses a
    # sixteenth of that, and an eighth of the 300 packets that leave before the first timeout.
    tree = leaf_spine(2, 4, 8)
    spine_to_leaf = [
        link
        for link in range(len(tree.link_source))
        if tree.link_source[link] == 10 and tree.link_target[link] == 9
    ]
    faults = [PacketFault(when_ps=0, kind="loss", link=spine_to_leaf[0], loss=ALL)]
    moved = transfers([(0, 4)], 4_000 * 4086)
    timeouts = {
        spray: run_packets(
            tree, moved, replace(SENT, spray=spray, num_paths=128), faults=faults
        ).counters["timeouts"]
        for spray in ("oblivious", "bitmap")
    }
    assert timeouts["oblivious"] == pytest.approx(500 * 8 / 7, rel=0.15)
    assert 36 < timeouts["bitmap"] < 36 + 38


def test_an_answer_comes_every_sixteen_kibibytes_with_headers() -> None:
    # uet-htsim validate_uec_sender.out: 490 packets, 124 answers. One for each four packets, and
    # one to the first: 1 + 489 / 4, rounded up. Data cross two links, answers two.
    delivery = run_packets(star(2), transfers([(0, 1)], 490 * 4086), SENT)
    assert delivery.counters["link_traversals"] == 2 * 490 + 2 * 124


def test_uet_sprays_and_pulls_as_its_simulator_does() -> None:
    uet = load_catalog().technology("uet-400g")
    assert settings_for(uet).spray == "mixed"
    assert settings_for(uet).ecn == replace(
        settings_for(uet, transport="rccc", congestion_control="none").ecn or Ecn(),
        to_endpoints=True,
    )
    rccc = settings_for(uet, transport="rccc", congestion_control="none").transport
    assert (rccc.first_window_lapses, rccc.pull_share) == (True, 0.99)
    ndp = settings_for(uet, transport="ndp", congestion_control="none")
    assert (ndp.transport.first_window_lapses, ndp.ecn) == (False, None)


@pytest.mark.parametrize("name", ["rccc", "ndp"])
def test_receivers_that_pull_take_the_place_of_congestion_control(name: str) -> None:
    uet = load_catalog().technology("uet-400g")
    asked = settings_for(uet, transport=name)
    assert (asked.congestion_control, asked.transport.recovery) == ("none", "pulled")
    assert settings_for(uet, congestion_control=name) == asked
    both = settings_for(uet, transport=name, congestion_control="nscc")
    assert (both.congestion_control, both.transport.recovery) == ("nscc", "pulled")
