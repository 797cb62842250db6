"""Ultra Ethernet's senders take nothing for lost that has come, or is under way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from wires import leaf_spine, star, transfers

import netloom as nl
from netloom.engines.packet import PacketFault, PacketSettings, Recording, run_packets, settings_for
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery

US: Final = 1_000_000
# Four leaves of eight hosts and four uplinks at 400 Gb/s: a taper of two. Each host sends every
# other 62,500 bytes, 16 packets: windows that begin at 49 are trimmed down to one or two.
TREE = leaf_spine(4, 8, 4, rate_bps=400e9, delay_ps=300_000)
PAIRS = [(a, b) for a in range(32) for b in range(32) if a != b]
UET = settings_for(load_catalog().technology("uet-400g"))
# From a leaf to another and back, over four links of 0.3 us each way: a packet of 4,198 + 20 bytes
# takes 84.4 ns, an answer of 84 bytes 1.7. To a host of the same leaf it is half as long.
EMPTY_RTT_PS = 8 * 300_000 + 4 * (84_360 + 1_680)


def with_transport(settings: PacketSettings, **changed: object) -> PacketSettings:
    return replace(settings, transport=replace(settings.transport, **changed))  # type: ignore[arg-type]


def all_to_all(settings: PacketSettings, *, seed: int) -> Delivery:
    watch = Recording(max_trace=1_000_000)
    return run_packets(TREE, transfers(PAIRS, 62_500), settings, seed=seed, watch=watch)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_window_that_closes_behind_a_packet_waits_for_no_timeout(seed: int) -> None:
    asks = all_to_all(UET, seed=seed)
    assert asks.counters["asks"] > 0
    assert asks.counters["timeouts"] == asks.counters["duplicates"] == 0
    assert asks.counters["retransmissions"] == asks.counters["trims"]
    silent = all_to_all(with_transport(UET, ask_rtts=0.0), seed=seed)
    assert silent.counters["asks"] == 0
    assert silent.counters["timeouts"] > 0
    assert asks.finish_ps.max() < 0.8 * silent.finish_ps.max()


def test_a_sender_asks_three_round_trips_after_its_last_answer_and_is_told() -> None:
    delivery = all_to_all(UET, seed=1)
    trace = delivery.tables["trace"]
    link, when_ps = trace["link"].astype(np.int64), trace["when_ps"].astype(np.int64)
    # Link 2 e leaves host e, and 2 e + 1 comes back to it.
    leaving, coming = ((link % 2 == way) & (link < 64) for way in (0, 1))
    asked = np.flatnonzero((trace["form"] == "ask") & leaving)
    told = (trace["form"] == "told") & coming
    assert len(asked) == delivery.counters["asks"] == told.sum()
    for at in asked:
        flow = int(trace["transfer"][at])
        heard = np.isin(trace["form"], ["ack", "told"]) & (trace["transfer"] == flow) & coming
        # An answer leaves the switch a link and its own time before it is heard.
        heard_ps = when_ps[heard] + 300_000 + 1_680
        silence_ps = when_ps[at] - heard_ps[heard_ps < when_ps[at]].max()
        source, target = PAIRS[flow]
        near = source // 8 == target // 8
        assert silence_ps >= 3 * EMPTY_RTT_PS // (2 if near else 1)


def test_a_sender_does_not_ask_while_a_packet_that_asks_is_out() -> None:
    # One host of a star sends to another whose link is at 1 Gb/s: the last of the window asks, and
    # its answer takes a hundred times the empty round trip.
    slow = [PacketFault(when_ps=0, kind="rate", link=3, rate_bps=1e9)]
    settings = with_transport(UET, timeout_ps=100_000 * US)
    delivery = run_packets(
        star(2, rate_bps=400e9), transfers([(0, 1)], 40 * 4096), settings, faults=slow
    )
    assert delivery.counters["asks"] == 0
    assert delivery.finish_ps[0] > 40 * 33 * US


SLOW = [PacketFault(when_ps=0, kind="rate", link=3, rate_bps=10e9)]
MOVED = transfers([(0, 1)], 2_000_000)
PAIR = star(2, rate_bps=400e9)


def test_a_queue_that_takes_longer_than_the_timeout_is_waited_for() -> None:
    # 2 MB are 489 packets, at 10 Gb/s 3.374 us each with their headers and gap (the last one is
    # 1,280 bytes): 1,648 us. A queue of 100 takes 337, and the timeout is 100.
    delivery = run_packets(PAIR, MOVED, UET, faults=SLOW)
    assert delivery.counters["timeouts"] == delivery.counters["duplicates"] == 0
    assert delivery.finish_ps[0] / US == pytest.approx(1_648, rel=0.03)


def test_what_was_sent_again_though_it_had_come_is_counted() -> None:
    # A timeout of 100 us whatever is measured takes for lost what waits in the queue. Nothing is
    # lost but by trimming: every other repetition is of a packet that comes as well.
    constant = with_transport(UET, measures_timeout=False)
    delivery = run_packets(PAIR, MOVED, constant, faults=SLOW)
    counters = delivery.counters
    assert counters["timeouts"] > 50
    assert counters["duplicates"] == counters["retransmissions"] - counters["trims"] > 0
    assert counters["delivered_packets"] - counters["duplicates"] == 489


@pytest.mark.parametrize(("technology", "most"), [("uet-400g", 1.001), ("uet-800g", 1.03)])
def test_a_gpu_that_cannot_fill_its_nic_is_as_fast_as_its_own_link(
    technology: str, most: float
) -> None:
    # Two GPUs of a DGX-1V share a NIC; its clock leaves out the 0.26 us that a packet takes to it.
    # Without these a window was 9 packets, of which answers for four at a time left too few: 1.18
    # and 1.14 times the time alone. It needs 7.4 packets for the round trip, and the four.
    fabric = {"technology": technology, "topology": {"kind": "fat-tree", "tiers": 2}}
    cluster = {"gpus": 32, "node": "dgx-1v", "fabric": fabric}
    traffic = [{"kind": "one-to-one", "source": 0, "target": 8, "size": "16MB"}]
    found = nl.simulate(nl.load({"cluster": cluster, "traffic": traffic})).first
    assert 0.999 < found.slowdown.max() < most
