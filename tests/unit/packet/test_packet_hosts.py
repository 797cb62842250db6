"""What software and NICs at the ends cost: copies, timeouts, probes, and nothing inside a node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import leaf_spine, star, transfers, wiring

from netloom.engines.packet import PacketFault, PacketSettings, Transport, run_packets

US = 1_000_000
MS = 1_000 * US
TCP = PacketSettings(
    flow_control="lossy",
    congestion_control="reno",
    transport=Transport(
        recovery="selective",
        disorder_packets=3,
        timeout_ps=MS,
        max_doublings=9,
        ack_on_data_lane=True,
    ),
)


def with_host_rate(rate_bps: float) -> PacketSettings:
    return PacketSettings(transport=Transport(recovery="selective", host_rate_bps=rate_bps))


def test_a_copy_limits_all_flows_of_a_port_together() -> None:
    # 2 x 245 packets of 4178 bytes at 20 instead of 100 Gb/s: 819 us.
    delivery = run_packets(star(3), transfers([(0, 1), (0, 2)], 1_000_000), with_host_rate(20e9))
    assert delivery.finish_ps.max() * 1e-6 == pytest.approx(490 * 4178 * 8 / 20e3, rel=0.02)


def test_a_copy_limits_the_receiver_too() -> None:
    delivery = run_packets(star(3), transfers([(0, 2), (1, 2)], 1_000_000), with_host_rate(20e9))
    assert delivery.finish_ps.max() * 1e-6 == pytest.approx(490 * 4178 * 8 / 20e3, rel=0.02)


def test_timeouts_double() -> None:
    # Nothing arrives after 100 us: timeouts 1, 2, 4 and 8 ms apart fall into the next 16 ms.
    cut = PacketFault(when_ps=100 * US, kind="loss", link=0, loss=0.999999)
    work = transfers([(0, 1)], 4_000_000)
    doubling = run_packets(star(2), work, TCP, faults=[cut], until_ps=17 * MS)
    steady = replace(TCP, transport=replace(TCP.transport, max_doublings=0))
    constant = run_packets(star(2), work, steady, faults=[cut], until_ps=17 * MS)
    assert doubling.counters["timeouts"] == 4
    assert constant.counters["timeouts"] >= 15


def test_a_probe_finds_a_lost_tail_in_round_trips_not_timeouts() -> None:
    # 98 packets leave in 33 us and more; what leaves from 30 us on is lost: the flow's tail.
    lose = [
        PacketFault(when_ps=when, kind="loss", link=0, loss=share)
        for when, share in ((30 * US, 0.999999), (36 * US, 0.0))
    ]
    slow = replace(TCP, transport=replace(TCP.transport, timeout_ps=200 * MS))
    probing = replace(slow, transport=replace(slow.transport, probe_rtts=2.0))
    work = transfers([(0, 1)], 400_000)
    waits = run_packets(star(2), work, slow, faults=lose)
    probes = run_packets(star(2), work, probing, faults=lose)
    assert waits.counters["timeouts"] == 1
    assert waits.finish_ps[0] > 200 * MS
    assert probes.counters["timeouts"] == 0
    assert probes.counters["probes"] >= 1
    assert probes.finish_ps[0] < 1 * MS


def test_connections_without_ports_take_one_way() -> None:
    tree = leaf_spine(2, 1, 8)
    settings = PacketSettings(connections=8)
    blind = replace(settings, transport=Transport(source_ports=False))
    work = transfers([(0, 1)], 1_000_000)
    several, one = (run_packets(tree, work, s).link_bytes[4:20:2] for s in (settings, blind))
    assert np.count_nonzero(several) > 2
    assert np.count_nonzero(one) == 1


def test_what_stays_on_scale_up_links_passes_no_nic() -> None:
    inside = replace(star(2), link_scale_up=np.ones(4, dtype=bool))
    host = Transport(send_ps=3 * US, receive_ps=4 * US, host_rate_bps=1e9)
    settings = PacketSettings(transport=host)
    work = transfers([(0, 1)], 4096)
    within = run_packets(inside, work, settings).tables["arrivals"]["arrive_ps"][0]
    assert within == 2 * 4096 * 80 + 2 * US  # payload alone: no headers, no gaps
    outside = replace(settings, transport=replace(host, host_rate_bps=0.0))
    assert (
        run_packets(star(2), work, outside).tables["arrivals"]["arrive_ps"][0]
        == 2 * 334_240 + 9 * US
    )


@pytest.mark.parametrize("scheme", ["rttcc", "timely", "swift"])
def test_waiting_in_ones_own_nic_is_no_congestion(scheme: str) -> None:
    # Endpoints 0 and 1 share NIC 3, of 100 Gb/s; their own links to it are as fast. Its cable is
    # full from the first packet to the last: 2 x 2,442 of 4178 bytes, 2 us and an acknowledgement.
    wires = wiring(3, [(0, 3), (1, 3), (3, 4), (2, 4)], delay_ps=US // 2)
    inside = np.arange(wires.num_links) < 4
    shared = replace(wires, link_scale_up=inside)
    settings = PacketSettings(congestion_control=scheme)
    run = run_packets(shared, transfers([(0, 2), (1, 2)], 10_000_000), settings)
    busy_ps = 2 * 2_442 * 4_178 * 80
    assert run.finish_ps.max() == pytest.approx(busy_ps + 3 * US, rel=0.002)
