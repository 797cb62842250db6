"""Flowlets: a flow changes its link after a silence, and at no other time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from wires import leaf_spine, transfers

from netloom.engines.packet import PacketSettings, SwitchSettings, run_packets

US = 1_000_000


def flowlets(gap_us: int) -> PacketSettings:
    return PacketSettings(balance="flowlet", switch=SwitchSettings(flowlet_gap_ps=gap_us * US))


def test_many_flows_without_a_silence_keep_their_links() -> None:
    # 2,000 connections and their answers have 4,000 places in a table of 65,536: some hundred pairs
    # share one. While the two of a pair took it from each other with every packet, each time for
    # another link, packets overtook one another, and go-back-N sent them again.
    pairs = [(number % 16, 16 + number // 16 % 16) for number in range(2000)]
    delivery = run_packets(leaf_spine(2, 16, 8), transfers(pairs, 20 * 4096), flowlets(1_000_000))
    assert (delivery.finish_ps > 0).all()
    assert delivery.counters["reordered"] == 0
    assert delivery.counters["retransmissions"] == 0


def test_a_flow_takes_another_link_after_a_silence_that_is_long_enough() -> None:
    # 16 messages of one connection, one every 100 us, of 0.7 us each.
    work = transfers([(0, 2)] * 16, 2 * 4096, start_ps=[100 * US * k for k in range(16)])
    work = replace(work, source_port=np.full(16, 50_000, dtype=np.uint16))
    # Links to the spines are those behind the four hosts' cables; data leaves leaf 0 upwards.
    used = [
        int((run_packets(leaf_spine(2, 2, 8), work, flowlets(gap_us)).link_bytes[8:24:2] > 0).sum())
        for gap_us in (50, 200)
    ]
    assert used[0] > 3
    assert used[1] == 1
