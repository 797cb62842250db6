"""A scheduled fabric: virtual output queues, credits of the egress port, cells, order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wires import leaf_spine, star, transfers

from netloom.engines.packet import CellSchedule, PacketFault, PacketSettings, Transport, run_packets
from netloom.errors import SpecError

US = 1_000_000
WAIT = 6 * US
SCHEDULED = PacketSettings(
    flow_control="scheduled",
    balance="cells",
    schedule=CellSchedule(wait_ps=WAIT),
    transport=Transport(timeout_ps=1_000 * US),
)
PACKET = 334_240  # 4178 bytes on the wire at 100 Gb/s


def test_one_packet_waits_for_its_credit_once() -> None:
    # A credit of 4096 bytes and a second for the other 82, 0.33 us later; then as ever.
    delivery = run_packets(star(2), transfers([(0, 1)], 4096), SCHEDULED)
    credit = 4096 * 80
    arrive = delivery.tables["arrivals"]["arrive_ps"][0]
    assert arrive == 2 * PACKET + 2 * US + WAIT + credit


def test_a_packet_carries_the_headers_of_its_cells_inside_the_fabric_alone() -> None:
    # 4158 bytes are 18 cells of up to 244 with 12 more each: 4374, and no gap. Host links 4178.
    tree = leaf_spine(2, 1, 1)
    delivery = run_packets(tree, transfers([(0, 1)], 4096), SCHEDULED)
    assert delivery.link_bytes[0] == 4178
    assert delivery.link_bytes[4] == 4374


def test_nothing_but_data_and_answers_takes_time_on_hosts_links() -> None:
    # Both ways at once: 977 packets with headers and gaps of 82 bytes, and 86 of each answer. What
    # keeps buffers from overflowing is no packet here, as it is with InfiniBand.
    delivery = run_packets(star(2), transfers([(0, 1), (1, 0)], 4_000_000), SCHEDULED)
    assert set(delivery.link_bytes.tolist()) == {977 * (82 + 86) + 4_000_000}


def test_the_cells_of_one_packet_take_all_links_at_once() -> None:
    # 18 cells, 5 together at most: 4 pieces of 4 and 5 cells over 4 spines, the last cell short
    # by 4608 - 4374 = 234 bytes. The packet is whole when 5 cells of 256 bytes have crossed two
    # links, then leaves as it came. Its credits come for 4096 bytes and, a credit later, for 82.
    tree = leaf_spine(2, 1, 4)
    settings = replace(SCHEDULED, schedule=CellSchedule(wait_ps=WAIT, cells_together=5))
    delivery = run_packets(tree, transfers([(0, 1)], 4096), settings)
    carried = sorted(
        int(count)
        for count, source, target in zip(
            delivery.link_bytes, tree.link_source, tree.link_target, strict=True
        )
        if source == 2 and target > 3
    )
    assert carried == [4 * 256, 4 * 256, 5 * 256 - 234, 5 * 256]
    arrive = delivery.tables["arrivals"]["arrive_ps"][0]
    assert arrive == 2 * PACKET + 2 * 5 * 256 * 80 + 4 * US + WAIT + 4096 * 80


def test_cells_together_take_a_permutation_hardly_longer_than_cells_alone() -> None:
    tree = leaf_spine(4, 4, 4)
    work = transfers([(i, (i + 5) % 16) for i in range(16)], 1_000_000)
    alone, together, whole = (
        run_packets(
            tree,
            work,
            replace(SCHEDULED, schedule=CellSchedule(wait_ps=WAIT, cells_together=count)),
        ).finish_ps.max()
        for count in (1, 2, 18)
    )
    assert alone <= together <= whole
    assert together == pytest.approx(alone, rel=0.01)


def test_acknowledgements_that_ride_with_the_data_keep_what_they_say() -> None:
    # Selective acknowledgements carry a bitmap in the packet; losses make it matter.
    rides = Transport(
        recovery="selective", disorder_packets=3, timeout_ps=200 * US, ack_on_data_lane=True
    )
    faults = [PacketFault(when_ps=0, kind="loss", link=0, loss=0.02)]
    delivery = run_packets(
        leaf_spine(2, 1, 2),
        transfers([(0, 1)], 1_000_000),
        replace(SCHEDULED, transport=rides),
        faults=faults,
        until_ps=100_000 * US,
    )
    assert not delivery.partial
    assert delivery.counters["lost"] <= delivery.counters["retransmissions"] < 60
    assert delivery.counters["delivered_bytes"] == 1_000_000


@pytest.mark.parametrize("senders", [2, 7])
def test_an_incast_ends_when_its_port_has_carried_it_and_nothing_is_sent_twice(
    senders: int,
) -> None:
    tree = leaf_spine(2, 8, 8)
    work = transfers([(8 + i, 0) for i in range(senders)], 409_600)
    delivery = run_packets(tree, work, SCHEDULED)
    assert delivery.counters["retransmissions"] == 0
    assert delivery.counters["reordered"] == 0
    last = delivery.tables["arrivals"]["arrive_ps"].max()
    # All packets at the port's rate, one packet's way there, the wait, one credit.
    ideal = senders * 100 * PACKET + 4 * PACKET + 4 * US + WAIT
    assert last == pytest.approx(ideal, rel=0.02)


def test_credits_go_to_the_highest_priority_that_asks() -> None:
    # Four senders of priority 3 and four of 1 into one port: the first have it to themselves, 400
    # packets of it, and the others what comes after. While queues took turns, all ended together.
    tree = leaf_spine(2, 8, 8)
    work = transfers([(8 + i, 0) for i in range(8)], 409_600, priority=[3, 1] * 4)
    arrive = run_packets(tree, work, SCHEDULED).tables["arrivals"]["arrive_ps"].astype(int)
    latency = 4 * PACKET + 4 * US + WAIT
    assert arrive[::2].max() == pytest.approx(400 * PACKET + latency, rel=0.02)
    assert arrive[1::2].max() == pytest.approx(800 * PACKET + latency, rel=0.02)


def test_a_queue_for_a_busy_port_does_not_hold_up_another() -> None:
    # Endpoint 8 sends to the busy port 0 and to the free port 1: the second flow has half the
    # link of 8 at first, and is done long before the incast is.
    tree = leaf_spine(2, 8, 8)
    incast = [(8 + i, 0) for i in range(7)]
    work = transfers([*incast, (8, 1)], 409_600)
    delivery = run_packets(tree, work, SCHEDULED)
    arrive = delivery.tables["arrivals"]["arrive_ps"]
    assert arrive[-1] < 2.3 * 100 * PACKET + WAIT + 10 * US
    assert arrive[0] > 5 * 100 * PACKET


def test_a_full_deep_buffer_holds_the_sender_and_loses_nothing() -> None:
    small = replace(SCHEDULED, schedule=CellSchedule(wait_ps=WAIT, queue_bytes=20_000))
    delivery = run_packets(star(5), transfers([(i, 4) for i in range(4)], 1_000_000), small)
    assert delivery.counters["drops"] == 0
    assert delivery.counters["retransmissions"] == 0
    assert delivery.counters["credit_stalls"] > 0


def test_a_packet_lost_inside_is_given_up_and_sent_again() -> None:
    tree = leaf_spine(2, 1, 2)
    faults = [PacketFault(when_ps=0, kind="loss", link=link, loss=0.005) for link in (4, 6)]
    settings = replace(SCHEDULED, transport=Transport(timeout_ps=200 * US))
    work = transfers([(0, 1)], 1_000_000)
    delivery = run_packets(tree, work, settings, faults=faults, until_ps=100_000 * US)
    assert delivery.counters["lost"] > 0
    assert not delivery.partial


def test_cells_that_carry_nothing_are_refused() -> None:
    with pytest.raises(SpecError, match="cells of 256 with headers of 256 carry nothing"):
        CellSchedule(cell_header_bytes=256)
