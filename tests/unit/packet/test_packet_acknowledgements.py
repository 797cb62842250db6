"""Reliable connections acknowledge what they are asked for, not every packet."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from wires import star, transfers

from netloom.engines.packet import (
    PacketFault,
    PacketSettings,
    SwitchSettings,
    Transport,
    run_packets,
)
from netloom.engines.packet.presets import settings_for
from netloom.parts.load import load_catalog

US = 1_000_000
ASKS = PacketSettings(transport=Transport(ask_every_packets=256, timeout_ps=4_000 * US))


@pytest.mark.parametrize("recovery", ["go-back-n", "selective"])
def test_one_acknowledgement_stands_for_256_packets(
    recovery: Literal["go-back-n", "selective"],
) -> None:
    # 1,000 packets over two links; numbers 256, 512 and 768 ask, and so does the last.
    asks = replace(ASKS, transport=replace(ASKS.transport, recovery=recovery))
    delivery = run_packets(star(2), transfers([(0, 1)], 1_000 * 4_096), asks)
    assert delivery.counters["link_traversals"] == 2 * (1_000 + 4)


def test_a_lone_flow_ends_when_it_would_with_every_packet_acknowledged() -> None:
    each = replace(ASKS, transport=replace(ASKS.transport, ask_every_packets=0))
    work = transfers([(0, 1)], 10_000_000)
    assert (
        run_packets(star(2), work, ASKS).finish_ps.max()
        == run_packets(star(2), work, each).finish_ps.max()
    )


def test_nothing_is_repeated_while_nothing_was_asked() -> None:
    # At 100 Mb/s a packet of 4,178 bytes takes 334 us, and the 256 before the first that asks take
    # 86 ms, of which the sender hears nothing: 21 times its timeout.
    switch = SwitchSettings(buffer_bytes=1_000_000)
    slow = run_packets(
        star(2, rate_bps=100e6),
        transfers([(0, 1)], 300 * 4_096),
        replace(ASKS, switch=switch),
    )
    assert slow.counters["timeouts"] == slow.counters["retransmissions"] == 0


def test_a_tail_that_is_lost_is_missed_a_timeout_after_it_asked() -> None:
    # All is lost on the second link from 5 to 6,000 us. The last of 100 packets asked at 33 us, and
    # 4 ms later, of no avail, and 8 ms later all are sent again: 8,033 us, and 36 more on the way.
    faults = (
        PacketFault(when_ps=5 * US, kind="loss", link=3, loss=0.999999),
        PacketFault(when_ps=6_000 * US, kind="loss", link=3, loss=0.0),
    )
    lossy = replace(ASKS, flow_control="lossy")
    work = transfers([(0, 1)], 100 * 4_096)
    delivery = run_packets(star(2), work, lossy, faults=faults)
    assert delivery.counters["timeouts"] == 2
    assert delivery.finish_ps.max() == pytest.approx(8_069 * US, rel=0.001)


def test_a_window_is_not_held_by_what_was_not_asked_for() -> None:
    # A window of one product keeps the link busy only if every packet is acknowledged.
    window = replace(ASKS.transport, window_bdp=1.0)
    each = replace(window, ask_every_packets=0)
    work = transfers([(0, 1)], 10_000_000)
    last = [
        run_packets(star(2), work, replace(ASKS, transport=host)).finish_ps.max()
        for host in (window, each)
    ]
    assert last[0] == last[1]


def test_senders_that_measure_round_trips_ask_four_times_in_each() -> None:
    # 100 Gb/s for the 4.5 us of two cables each way, a packet twice and its answer twice: 58 KB;
    # a quarter of that is 14.5 KB, which the fourth packet is first to pass.
    host = replace(ASKS.transport, asks_per_rtt=4.0, recovery="selective")
    rttcc = replace(ASKS, transport=host, congestion_control="rttcc")
    delivery = run_packets(star(2), transfers([(0, 1)], 1_000 * 4_096), rttcc)
    acks = delivery.counters["link_traversals"] // 2 - 1_000
    assert acks == 250


@pytest.mark.parametrize(
    ("technology", "scheme", "packets"),
    [
        ("rocev2-400g", "", 256),
        ("infiniband-ndr", "", 256),
        ("spectrum-x-400g", "", 256),
        ("scheduled-400g", "", 256),
        ("rocev2-400g", "timely", 0),
        ("rocev2-400g", "hpcc", 0),
        ("uet-400g", "", 0),
        ("tcp-100g", "", 0),
    ],
)
def test_schemes_that_live_on_acknowledgements_have_one_for_each_packet(
    technology: str, scheme: str, packets: int
) -> None:
    found = settings_for(load_catalog().technology(technology), congestion_control=scheme)
    assert found.transport.ask_every_packets == packets
