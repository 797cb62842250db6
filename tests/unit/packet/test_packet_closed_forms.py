"""Completion times that can be worked out by hand, to the picosecond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import leaf_spine, star, transfers, wiring

from netloom.engines.packet import (
    Credits,
    PacketSettings,
    Recording,
    SwitchSettings,
    Transport,
    run_packets,
)

# 4096 bytes of payload, 62 of headers and 20 of gap are 4178 bytes: 334,240 ps at 100 Gb/s. An
# acknowledgement of 66 bytes and its gap take 86 x 80 = 6,880 ps. Links are 1 us long.
FULL_PS = 334_240
ACK_PS = 6_880
LINK_PS = 1_000_000
QUIET = PacketSettings()


def test_one_packet_stored_and_forwarded_takes_a_packet_time_on_each_link() -> None:
    delivery = run_packets(star(2), transfers([(0, 1)], 4096), QUIET)
    # Two links there and two back: each has its packet time and its propagation.
    assert delivery.finish_ps.tolist() == [2 * (FULL_PS + LINK_PS) + 2 * (ACK_PS + LINK_PS)]
    assert delivery.tables["arrivals"]["arrive_ps"].tolist() == [2 * (FULL_PS + LINK_PS)]


def test_one_packet_cut_through_takes_its_packet_time_once() -> None:
    cut = replace(QUIET, switch=SwitchSettings(cut_through=True))
    delivery = run_packets(star(2, forward_ps=130_000), transfers([(0, 1)], 4096), cut)
    one_way = 2 * LINK_PS + 130_000
    assert delivery.finish_ps.tolist() == [one_way + FULL_PS + one_way + ACK_PS]


def test_cut_through_stores_a_packet_for_a_faster_link() -> None:
    # 100 Gb/s in, 400 Gb/s out (83,560 ps a packet): cutting through would run dry.
    slow_fast = wiring(2, [(0, 2), (1, 2)], rate_bps=[100e9, 400e9])
    cut = replace(QUIET, switch=SwitchSettings(cut_through=True))
    delivery = run_packets(slow_fast, transfers([(0, 1)], 4096), cut)
    assert delivery.tables["arrivals"]["arrive_ps"].tolist() == [FULL_PS + 83_560 + 2 * LINK_PS]


def test_a_long_transfer_fills_the_slowest_link() -> None:
    # 100 full packets: the first takes two packet times, each further one more.
    delivery = run_packets(star(2), transfers([(0, 1)], 409_600), QUIET)
    assert delivery.tables["arrivals"]["arrive_ps"].tolist() == [101 * FULL_PS + 2 * LINK_PS]


def test_a_packet_that_nothing_holds_up_costs_one_event_a_link() -> None:
    # 100 packets and their answers arrive at the end of two links each; the flow starts once, and
    # 99 times the sender's port is free for the next packet.
    counters = run_packets(star(2), transfers([(0, 1)], 409_600), QUIET).counters
    assert counters["link_traversals"] == 100 * (2 + 2)
    assert counters["events"] == 100 * (2 + 2) + 1 + 99


def test_credit_costs_an_event_only_where_a_lane_waits_for_it() -> None:
    # As above, under credits that never run out. Each update is a frame on a port, which a packet
    # may find busy and wait for: at most a wake-up for each, and no event that brings it.
    ample = replace(QUIET, flow_control="credits", credits=Credits(buffer_bytes=1 << 20))
    counters = run_packets(star(2), transfers([(0, 1)], 409_600), ample).counters
    assert counters["credit_stalls"] == 0
    assert counters["credit_updates"] >= 2 * 100
    assert counters["events"] <= 100 * (2 + 2) + 1 + 99 + counters["credit_updates"]
    # Room for two full packets on links of 1 us: they wait, and an event ends each wait.
    scarce = replace(ample, credits=Credits(buffer_bytes=2 * 65 * 64, update_bytes=64))
    held = run_packets(star(2), transfers([(0, 1)], 409_600), scarce).counters
    assert held["credit_stalls"] > 100
    assert held["delivered_packets"] == 100


def test_a_rate_that_divides_no_picosecond_is_rounded_once_a_packet() -> None:
    # 4178 bytes at 300 Gb/s are 111,413.33 ps.
    delivery = run_packets(star(2, rate_bps=300e9), transfers([(0, 1)], 4096), QUIET)
    assert delivery.tables["arrivals"]["arrive_ps"].tolist() == [2 * 111_414 + 2 * LINK_PS]


def test_two_flows_into_one_port_take_turns() -> None:
    # Both send 50 packets; their common last link carries 100, behind the first one's way there.
    work = transfers([(0, 2), (1, 2)], 50 * 4096)
    arrive = run_packets(star(3), work, QUIET).tables["arrivals"]["arrive_ps"]
    assert arrive.max() == 101 * FULL_PS + 2 * LINK_PS
    assert arrive.min() == 100 * FULL_PS + 2 * LINK_PS


def test_an_incast_drains_at_the_rate_of_its_last_link() -> None:
    count, packets = 8, 40
    work = transfers([(i, count) for i in range(count)], packets * 4096)
    delivery = run_packets(star(count + 1), work, QUIET)
    last = delivery.tables["arrivals"]["arrive_ps"].max()
    assert last == (count * packets + 1) * FULL_PS + 2 * LINK_PS
    assert delivery.counters["drops"] == 0


def test_forwarding_latency_is_paid_at_every_switch() -> None:
    tree = leaf_spine(2, 1, 1, forward_ps=500_000)
    arrive = run_packets(tree, transfers([(0, 1)], 4096), QUIET).tables["arrivals"]["arrive_ps"]
    assert arrive.tolist() == [4 * (FULL_PS + LINK_PS) + 3 * 500_000]


def test_host_latencies_come_before_the_first_bit_and_after_the_last() -> None:
    host = replace(QUIET, transport=Transport(send_ps=2_000_000, receive_ps=700_000))
    delivery = run_packets(star(2), transfers([(0, 1)], 4096, start_ps=5), host)
    wire = 2 * (FULL_PS + LINK_PS)
    assert delivery.start_ps.tolist() == [5]
    assert delivery.tables["arrivals"]["arrive_ps"].tolist() == [5 + 2_000_000 + wire + 700_000]


def test_a_transfer_starts_a_delay_after_the_last_that_it_waits_for() -> None:
    work = transfers(
        [(0, 1), (1, 2), (2, 0)], 4096, delay_ps=[0, 10_000, 0], waits=[(), (0,), (0, 1)]
    )
    delivery = run_packets(star(3), work, QUIET)
    hop = 2 * (FULL_PS + LINK_PS)  # the acknowledgement has left the port within the delay
    assert delivery.start_ps.tolist() == [0, hop + 10_000, 2 * hop + 10_000]


def test_a_slow_host_paces_its_packets() -> None:
    # 50 Gb/s of software on a 100 Gb/s port: one packet every two packet times. The receiver's
    # copy of the last one ends a packet time after its last bit is in.
    host = replace(QUIET, transport=Transport(host_rate_bps=50e9))
    arrive = run_packets(star(2), transfers([(0, 1)], 10 * 4096), host).tables["arrivals"]
    assert arrive["arrive_ps"].tolist() == [9 * 2 * FULL_PS + 3 * FULL_PS + 2 * LINK_PS]


@pytest.mark.parametrize(("length_m", "rate_bps"), [(1_000, 105e9), (2_000, 52.4e9), (100, 400e9)])
def test_credits_reach_as_far_as_128_kib_carry(length_m: int, rate_bps: float) -> None:
    # 128 KiB are 31 packets of 65 blocks, a round trip apart: V23, 105 Gb/s at 1 km of 400G.
    infiniband = PacketSettings(
        flow_control="credits",
        credits=Credits(buffer_bytes=1 << 20, update_bytes=64),
        switch=SwitchSettings(cut_through=True),
        transport=Transport(header_bytes=26, gap_bytes=0, least_bytes=0, ack_bytes=30),
    )
    far = wiring(
        2, [(0, 2), (2, 3), (1, 3)], rate_bps=400e9, delay_ps=[5_000, length_m * 5_000, 5_000]
    )
    size_bytes = 40_000_000
    arrive = run_packets(far, transfers([(0, 1)], size_bytes), infiniband).tables["arrivals"]
    reached = size_bytes * 8 / (arrive["arrive_ps"][0] / 1e12)
    assert reached == pytest.approx(rate_bps, rel=0.04)


def test_samples_and_trace_are_what_was_asked_for() -> None:
    watch = Recording(links=(1, 3), every_ps=1_000_000, max_trace=5)
    delivery = run_packets(star(2), transfers([(0, 1)], 409_600), QUIET, watch=watch)
    samples = delivery.tables["samples"]
    assert samples["link"].tolist()[:2] == [1, 3]
    assert np.all(np.diff(samples["when_ps"][::2]) == 1_000_000)
    assert len(delivery.tables["trace"]["when_ps"]) == 5


def test_samples_stay_few_and_evenly_apart_however_long_the_run() -> None:
    # 100 packets of 4178 bytes at 100 Gb/s take 33.4 us: 334 times of 100 ns each, of which 16 may
    # be kept. 1.6, 3.2, 6.4, 12.8 and 25.6 us fill the books: every 3.2 us is left, from 0 on.
    watch = Recording(links=(1, 3), every_ps=100_000, max_samples=16)
    delivery = run_packets(star(2), transfers([(0, 1)], 409_600), QUIET, watch=watch)
    samples = delivery.tables["samples"]
    when = samples["when_ps"][::2].tolist()
    assert when == [3_200_000 * number for number in range(len(when))]
    assert 8 <= len(when) <= 16
    assert samples["link"].tolist() == [1, 3] * len(when)


def test_links_count_every_byte_headers_and_gaps_included() -> None:
    delivery = run_packets(star(2), transfers([(0, 1)], 10_000), QUIET)
    data = 10_000 + 3 * 82
    assert delivery.link_bytes.tolist() == [data, 3 * 86, 3 * 86, data]


def test_a_stopped_run_counts_of_a_packet_what_is_on_the_wire() -> None:
    # At 100 Gb/s a packet of 4178 bytes takes 334,240 ps: after 501,360 ps one and a half are out.
    delivery = run_packets(star(2), transfers([(0, 1)], 409_600), QUIET, until_ps=501_360)
    assert delivery.link_bytes.tolist() == [4178 * 3 // 2, 0, 0, 0]


def test_several_connections_carry_a_transfer_together() -> None:
    many = replace(QUIET, connections=4)
    delivery = run_packets(star(2), transfers([(0, 1)], 10 * 4096 + 2), many)
    assert delivery.counters["delivered_bytes"] == 10 * 4096 + 2
    assert len(delivery.finish_ps) == 1
    assert delivery.finish_ps[0] > 0


def test_a_computation_takes_its_delay_and_sends_nothing() -> None:
    work = transfers([(0, 1), (0, 1)], [0, 0], delay_ps=[5_000, 70_000], waits=[[], [0]])
    delivery = run_packets(star(2), work, QUIET)
    assert delivery.finish_ps.tolist() == [5_000, 75_000]
    assert delivery.counters["link_traversals"] == 0


def test_a_message_waits_for_the_longer_of_two_computations() -> None:
    work = transfers(
        [(0, 1), (1, 0), (0, 1)], [0, 0, 4096], delay_ps=[5_000, 9_000, 0], waits=[[], [], [0, 1]]
    )
    delivery = run_packets(star(2), work, QUIET)
    assert delivery.start_ps.tolist()[2] == 9_000
    arrive_ps = delivery.tables["arrivals"]["arrive_ps"]
    assert arrive_ps.tolist()[2] == 9_000 + 2 * (FULL_PS + LINK_PS)


def test_computation_waits_for_what_arrives_and_passes_no_stack() -> None:
    host = Transport(send_ps=400_000, receive_ps=300_000)
    work = transfers([(0, 1), (1, 0)], [4096, 0], delay_ps=[0, 1_000], waits=[[], [0]])
    delivery = run_packets(star(2), work, PacketSettings(transport=host))
    arrives_ps = 400_000 + 2 * (FULL_PS + LINK_PS) + 300_000
    assert delivery.finish_ps.tolist()[1] == arrives_ps + 1_000


def test_a_computation_is_not_cut_into_connections() -> None:
    work = transfers([(0, 1), (0, 1)], [0, 8192], delay_ps=[7_000, 0], waits=[[], [0]])
    delivery = run_packets(star(2), work, PacketSettings(connections=4))
    assert delivery.finish_ps.tolist()[0] == 7_000
    assert delivery.start_ps.tolist()[1] == 7_000
