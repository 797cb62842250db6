"""Rates that change: departures and notifications; and how long senders wait."""

from __future__ import annotations

import pytest
from wires import star, transfers

from netloom.engines.packet import (
    Ecn,
    PacketSettings,
    Transport,
    run_packets,
    settings_for,
)
from netloom.parts.load import load_catalog

US = 1_000_000


@pytest.mark.parametrize("rate_bps", [100e9, 400e9])
def test_a_sender_that_was_cut_to_the_least_rate_leaves_as_soon_as_it_may(rate_bps: float) -> None:
    # A packet of 4178 bytes takes 33 ms at DCQCN's least rate, 1 Mb/s. The rate doubles and more
    # every 300 us: were departures not to move, 8 MB, 640 us at 100 Gb/s, would take 33 ms.
    settings = PacketSettings(
        congestion_control="dcqcn-firmware",
        ecn=Ecn(),
        transport=Transport(cnp_interval_ps=4 * US),
    )
    work = transfers([(host, 0) for host in range(1, 9)], 1_000_000)
    took_ps = run_packets(star(9, rate_bps=rate_bps), work, settings, seed=1).finish_ps.max()
    assert took_ps < 3_000 * US


def test_a_flow_just_under_its_line_and_one_at_it_take_turns() -> None:
    # HPCC keeps the long flow at 99 % of the line: it is ready again a little after the port is.
    # The new one, at line rate, would be at the head of the line by then, were it to stand there
    # while its packet leaves, and send two packets of three until the first answers come. In turns
    # 100 packets of 1082 bytes take 200 packet times, 86,560 ps each at 100 Gb/s, and four links.
    settings = PacketSettings(
        congestion_control="hpcc",
        parameters={"target": 0.99, "rtt_ps": 12 * US},
        transport=Transport(telemetry=True, payload_bytes=1000),
    )
    work = transfers([(0, 1), (0, 2)], [20_000_000, 100_000], start_ps=[0, 300 * US])
    finish_ps = run_packets(star(3), work, settings).finish_ps
    assert finish_ps[1] - 300 * US == pytest.approx(200 * 86_560 + 4 * US, rel=0.01)


def test_swift_leaves_room_for_queues_on_a_path_that_is_longer_than_its_target() -> None:
    # Cables of 20 us: an empty round trip of 80 us and a packet, against a target of 25. Were that
    # all, every answer would come too late, and windows fall to a hundredth of a packet: over four
    # such cables 1 MB took 221 ms. A window of ten packets that grows by one a round trip takes 14.
    settings = PacketSettings(congestion_control="swift", transport=Transport(recovery="selective"))
    far = star(2, delay_ps=20 * US)
    took_ps = run_packets(far, transfers([(0, 1)], 1_000_000), settings).finish_ps[0]
    assert took_ps < 16 * 81 * US


def test_a_mark_within_the_interval_draws_a_notification_at_its_end() -> None:
    # B, at 100 Gb/s, sends 250 KB beside A's 2 MB at 50 Gb/s: for 20 us the queue grows by 50 Gb/s,
    # then it shrinks by as much. Above 20 KB all is marked, from 3 to 37 us. A hears of it at the
    # first mark and again 50 us later; B's last packet has come by then: three notifications.
    settings = PacketSettings(
        ecn=Ecn(kmin_bytes=20_000, kmax_bytes=20_000, pmax=1.0, at_rate_bps=0),
        transport=Transport(payload_bytes=1000, cnp_interval_ps=50 * US),
    )
    work = transfers([(1, 0), (2, 0)], [2_000_000, 250_000])
    counters = run_packets(star(3, rate_bps=[100e9, 50e9, 100e9]), work, settings).counters
    assert counters["cnps"] == 3


def test_tcp_in_a_nic_and_in_the_kernel_wait_as_their_sources_say() -> None:
    # Chelsio's cxgb/tp.c: a quarter of a second; Linux's TCP_RTO_MIN: HZ / 5.
    timeouts_ps = [
        settings_for(load_catalog().technology(name)).transport.timeout_ps
        for name in ("iwarp-100g", "tcp-100g")
    ]
    assert timeouts_ps == [250_000 * US, 200_000 * US]
