"""HPCC with one byte of telemetry, and senders that wait for their receiver's pulls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import leaf_spine, transfers, wiring

from netloom.engines.packet import PacketSettings, SwitchSettings, Transport, run_packets


def test_pint_fills_a_shared_link_and_starves_no_flow() -> None:
    # Three hosts on a switch, 100 Gb/s: two flows of 5 MB into the third. 5000 packets of 1049
    # bytes each take 420 us on the link they share.
    star = wiring(3, [(0, 3), (1, 3), (2, 3)])
    settings = PacketSettings(
        congestion_control="hpcc-pint",
        parameters={"target": 0.95},
        transport=Transport(payload_bytes=1000, header_bytes=49, gap_bytes=0),
    )
    moved = transfers([(0, 2), (1, 2)], 5_000_000)
    finish_us = run_packets(star, moved, settings).finish_ps / 1e6
    least_us = 10_000 * 1049 * 8 / 100e3
    assert finish_us.max() >= least_us
    assert finish_us.max() <= least_us / 0.95 * 1.05 + 20
    told = replace(settings, transport=replace(settings.transport, base_rtt_ps=4_160_000))
    # Two links of 1 us both ways, and 1000 bytes twice at 80 ns: what is told is what is found.
    assert np.array_equal(run_packets(star, moved, told).finish_ps / 1e6, finish_us)
    assert abs(finish_us[0] / finish_us[1] - 1) < 0.25


def test_a_sender_that_waits_for_its_turn_repeats_nothing() -> None:
    # 60 senders of 200 packets each; four packets a pull, so that a turn comes round every
    # 60 x 4 x 332 ns = 80 us, past the timeout of 60 us.
    net = leaf_spine(8, 8, 8, rate_bps=100e9)
    settings = PacketSettings(
        flow_control="trimming",
        spray="oblivious",
        switch=SwitchSettings(buffer_bytes=1 << 40, queue_bytes=400_000, reserve_bytes=0),
        transport=Transport(
            recovery="pulled",
            payload_bytes=4086,
            header_bytes=64,
            gap_bytes=0,
            ack_bytes=64,
            first_window_bytes=4086,
            pull_bytes=4 * 4086,
            ack_every_bytes=16_384,
            timeout_ps=60_000_000,
        ),
    )
    moved = transfers([(host, 0) for host in range(1, 61)], 200 * 4086)
    delivery = run_packets(net, moved, settings)
    assert delivery.counters["timeouts"] == 0
    assert delivery.counters["retransmissions"] == delivery.counters["trims"]
    ideal_us = 60 * 200 * 4150 * 8 / 100e3
    assert delivery.finish_ps.max() / 1e6 == pytest.approx(ideal_us, rel=0.02)
