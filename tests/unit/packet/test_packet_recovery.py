"""Loss, disorder, trimming and pulls: everything arrives, by each transport's own way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wires import leaf_spine, star, transfers

from netloom.engines.packet import (
    Ecn,
    PacketFault,
    PacketSettings,
    Pfc,
    SwitchSettings,
    Transport,
    flap,
    reboot,
    run_packets,
)
from netloom.engines.packet.scheme import SCHEMES

US = 1_000_000
LOSSY = PacketSettings(
    flow_control="lossy",
    switch=SwitchSettings(queue_bytes=40_000, buffer_bytes=10_000_000),
    transport=Transport(timeout_ps=100 * US, nack_interval_ps=20 * US),
)
INCAST = transfers([(i, 4) for i in range(4)], 400_000)


def test_go_back_n_recovers_from_full_queues() -> None:
    delivery = run_packets(star(5), INCAST, LOSSY, until_ps=100_000 * US)
    assert delivery.counters["drops"] > 0
    assert delivery.counters["retransmissions"] > delivery.counters["drops"]
    assert delivery.counters["delivered_bytes"] == 4 * 400_000
    assert not delivery.partial


@pytest.mark.parametrize(
    "host",
    [
        Transport(recovery="go-back-n", timeout_ps=4_000 * US),
        Transport(recovery="selective", timeout_ps=100 * US),
        Transport(recovery="selective", timeout_ps=100 * US, ack_every_bytes=16_384),
        Transport(recovery="pulled", timeout_ps=100 * US),
    ],
)
def test_nobody_repeats_what_is_still_on_its_way(host: Transport) -> None:
    # Two cables of 600 km: 3 ms each way each, so that a round trip takes 12 ms. Timeouts wait for
    # three of them (RFC 6298), whatever they are set to.
    settings = PacketSettings(flow_control="lossy", transport=host)
    far = star(2, delay_ps=3_000 * US)
    delivery = run_packets(far, transfers([(0, 1)], 400_000), settings)
    assert delivery.counters["retransmissions"] == delivery.counters["timeouts"] == 0


def test_a_control_that_counts_round_trips_hears_while_go_back_n_repeats() -> None:
    """Rounds end where a sender that went back has got to, not where it had been before.

    16 x 2,000 packets of 1,000 bytes and their headers take 2.8 ms at 100 Gb/s. Deaf until all was
    repeated that they had sent before the gap, senders kept their first cut rate and took 9.2 ms.
    """
    settings = PacketSettings(
        flow_control="lossy",
        congestion_control="timely",
        switch=SwitchSettings(queue_bytes=2_000_000, buffer_bytes=10_000_000),
        transport=Transport(payload_bytes=1_000, timeout_ps=1_000 * US),
    )
    incast = transfers([(i, 16) for i in range(16)], 2_000_000)
    delivery = run_packets(star(17), incast, settings, until_ps=100_000 * US)
    host = settings.transport
    wire_bytes = 16 * 2_000 * (1_000 + host.header_bytes + host.gap_bytes)
    drain_ps = wire_bytes * 80  # a byte at 100 Gb/s
    assert delivery.counters["drops"] > 0
    assert drain_ps < delivery.finish_ps.max() < 1.25 * drain_ps


def test_selective_repeat_sends_again_what_was_lost_and_little_else() -> None:
    irn = replace(
        LOSSY,
        transport=Transport(
            recovery="selective", disorder_packets=1, window_bdp=1.0, timeout_ps=100 * US
        ),
    )
    delivery = run_packets(star(5), INCAST, irn, until_ps=100_000 * US)
    assert not delivery.partial
    assert delivery.counters["drops"] > 0
    assert delivery.counters["retransmissions"] <= 1.2 * delivery.counters["drops"]
    rc = run_packets(star(5), INCAST, LOSSY, until_ps=100_000 * US)
    assert delivery.counters["retransmissions"] < 0.5 * rc.counters["retransmissions"]


def test_trimmed_packets_are_reported_and_sent_again() -> None:
    uet = PacketSettings(
        flow_control="trimming",
        switch=SwitchSettings(queue_bytes=33_264, buffer_bytes=10_000_000),
        transport=Transport(recovery="selective", timeout_ps=1_000 * US),
        congestion_control="nscc",
        ecn=Ecn(kmin_bytes=8_000, kmax_bytes=24_000, pmax=1.0, at_rate_bps=0),
    )
    delivery = run_packets(star(5), INCAST, uet)
    assert delivery.counters["trims"] > 0
    assert delivery.counters["drops"] == 0
    assert delivery.counters["timeouts"] == 0
    assert delivery.counters["retransmissions"] == delivery.counters["trims"]


def test_pulls_let_an_incast_finish_at_the_rate_of_its_port() -> None:
    ndp = PacketSettings(
        flow_control="trimming",
        switch=SwitchSettings(queue_bytes=8 * 4158, buffer_bytes=10_000_000),
        transport=Transport(recovery="pulled", timeout_ps=1_000 * US, pull_bytes=4096),
    )
    delivery = run_packets(star(5), INCAST, ndp)
    assert not delivery.partial
    # 4 x 98 packets of 334,240 ps, and the way there; headers of trimmed packets come on top.
    ideal_ps = 4 * 98 * 334_240 + 2 * US
    assert delivery.tables["arrivals"]["arrive_ps"].max() < 1.05 * ideal_ps


def test_disorder_makes_go_back_n_repeat_and_not_a_nic_that_reorders() -> None:
    tree = leaf_spine(2, 4, 4, delay_ps=[US] * 8 + [US, 3 * US, 5 * US, 9 * US] * 2)
    work = transfers([(0, 4)], 400_000)
    # The adaptive switch spreads packets over spines of unequal length.
    spread = PacketSettings(balance="adaptive", transport=Transport(nack_interval_ps=20 * US))
    rc = run_packets(tree, work, spread, until_ps=10_000 * US)
    able = run_packets(tree, work, replace(spread, transport=Transport(recovery="selective")))
    assert rc.counters["retransmissions"] > 0
    assert able.counters["reordered"] > 0
    assert able.counters["retransmissions"] == 0


@pytest.mark.parametrize("spray", ["oblivious", "bitmap", "retiring", "mixed", "reps"])
def test_sprayed_packets_use_every_uplink(spray: str) -> None:
    tree = leaf_spine(2, 2, 4)
    sprayed = PacketSettings(spray=spray, transport=Transport(recovery="selective"))
    delivery = run_packets(tree, transfers([(0, 2)], 4_000_000), sprayed)
    uplinks = delivery.link_bytes[8:16:2]
    assert uplinks.min() > 0.2 * uplinks.max()  # 128 values hashed to 4 links


@pytest.mark.parametrize("scheme", SCHEMES.names())
def test_every_congestion_control_brings_an_incast_home(scheme: str) -> None:
    settings = PacketSettings(
        congestion_control=scheme,
        ecn=Ecn(kmin_bytes=20_000, kmax_bytes=80_000, at_rate_bps=0),
        transport=Transport(
            telemetry=True, cnp_interval_ps=4 * US if scheme != "dcqcn" else 50 * US
        ),
    )
    delivery = run_packets(star(5), INCAST, settings, until_ps=100_000 * US)
    assert not delivery.partial, scheme
    assert delivery.counters["drops"] == 0
    assert delivery.counters["delivered_bytes"] == 4 * 400_000


def test_corrupted_packets_are_sent_again() -> None:
    fault = PacketFault(when_ps=0, kind="loss", link=0, loss=0.05)
    settings = PacketSettings(transport=Transport(timeout_ps=100 * US, nack_interval_ps=20 * US))
    delivery = run_packets(star(2), transfers([(0, 1)], 1_000_000), settings, faults=[fault])
    assert delivery.counters["lost"] > 0
    assert not delivery.partial


def test_loss_by_size_spares_small_packets() -> None:
    fault = PacketFault(when_ps=0, kind="loss", link=0, loss=0.5, least_bytes=1_000)
    settings = PacketSettings(transport=Transport(timeout_ps=100 * US))
    small = run_packets(star(2), transfers([(0, 1)] * 9, 64), settings, faults=[fault])
    assert small.counters["lost"] == 0


def test_a_cut_link_is_left_out_by_the_switch_that_knows() -> None:
    tree = leaf_spine(2, 1, 2)
    settings = PacketSettings(transport=Transport(timeout_ps=200 * US))
    work = transfers([(0, 1)], 2_000_000)
    whole = run_packets(tree, work, settings)
    used = 4 if whole.link_bytes[4] else 6
    faults = flap(used, down_ps=50 * US, up_ps=10_000 * US)
    delivery = run_packets(tree, work, settings, faults=faults)
    assert delivery.counters["lost"] > 0
    assert delivery.link_bytes[10 - used] > 0
    assert not delivery.partial


@pytest.mark.parametrize("cut_through", [False, True])
def test_a_packet_that_was_half_out_when_its_link_was_cut_is_lost(*, cut_through: bool) -> None:
    # It takes 334 ns to leave and 1 us to cross the link, which is cut from 100 to 200 ns.
    settings = PacketSettings(
        switch=SwitchSettings(cut_through=cut_through), transport=Transport(timeout_ps=200 * US)
    )
    faults = flap(0, down_ps=100_000, up_ps=200_000)
    delivery = run_packets(star(2), transfers([(0, 1)], 4096), settings, faults=faults)
    assert delivery.counters["lost"] == 1
    assert delivery.counters["retransmissions"] == 1


@pytest.mark.parametrize("scheme", ["swift", "nscc", "dctcp"])
def test_irn_goes_on_after_a_timeout_that_leaves_its_window_full(scheme: str) -> None:
    # All that was out is lost, and a timeout of IRN takes the oldest and the newest packet for lost
    # alone. The window has shrunk to less than the rest: the sender stood still forever.
    settings = PacketSettings(
        congestion_control=scheme,
        transport=Transport(
            recovery="selective",
            disorder_packets=1,
            window_bdp=1.0,
            timeout_ps=320 * US,
            timeout_low_ps=100 * US,
            timeout_low_packets=3,
        ),
    )
    faults = flap(2, down_ps=10 * US, up_ps=900 * US)
    delivery = run_packets(
        star(2), transfers([(0, 1)], 1_000_000), settings, faults=faults, until_ps=20_000 * US
    )
    assert not delivery.partial


def test_a_rebooted_switch_loses_what_it_holds() -> None:
    settings = PacketSettings(transport=Transport(timeout_ps=200 * US))
    faults = reboot(star(3), 3, down_ps=20 * US, up_ps=500 * US)
    delivery = run_packets(star(3), transfers([(0, 2), (1, 2)], 1_000_000), settings, faults=faults)
    assert delivery.counters["lost"] + delivery.counters["drops"] > 0
    assert not delivery.partial
    assert delivery.finish_ps.min() > 500 * US


def test_a_slowed_link_takes_longer() -> None:
    fault = PacketFault(when_ps=0, kind="rate", link=3, rate_bps=25e9)
    work = transfers([(0, 1)], 1_000_000)
    slow = run_packets(star(2), work, PacketSettings(pfc=Pfc()), faults=[fault])
    assert slow.finish_ps[0] > 3.8 * run_packets(star(2), work, PacketSettings()).finish_ps[0]


def test_headers_that_do_not_fit_go_back_to_their_senders() -> None:
    # A packet comes each 0.33 us, a header of 84 bytes leaves in 6.7 ns: with over 50 senders not
    # all headers fit for long. Nobody waits for a timeout, and the port is hardly ever idle.
    switch = SwitchSettings(queue_bytes=8_316, buffer_bytes=10_000_000, reserve_bytes=0)
    ndp = PacketSettings(
        flow_control="trimming",
        switch=replace(switch, return_headers=True),
        transport=Transport(recovery="pulled", first_window_bytes=81_920, timeout_ps=10_000 * US),
    )
    incast = transfers([(i, 96) for i in range(96)], 20 * 4096)
    returned = run_packets(star(97), incast, ndp)
    assert returned.counters["drops"] == returned.counters["timeouts"] == 0
    wire_ps = 96 * 20 * 4178 * 80  # at 100 Gb/s
    assert returned.finish_ps.max() < 1.05 * wire_ps  # 2 % of it are headers
    dropped = run_packets(star(97), incast, replace(ndp, switch=switch))
    assert dropped.counters["drops"] > 0
    assert dropped.counters["timeouts"] > 0


def test_notifications_that_go_first_are_not_held_up_by_pauses() -> None:
    # Two send to a host whose own cable is paused forever. In the data's lane its CNPs never
    # leave: 977 packets of each flow, 653 us for both, and the way. Else they cut the rates.
    work, wiring = transfers([(0, 2), (1, 2)], 4_000_000), star(3)
    fault = PacketFault(when_ps=0, kind="pause", link=wiring.link_source.tolist().index(2))
    queued = PacketSettings(
        congestion_control="dcqcn-firmware",
        ecn=Ecn(kmin_bytes=5_000, kmax_bytes=20_000, pmax=1.0, at_rate_bps=0),
        transport=Transport(ack_on_data_lane=True, cnp_interval_ps=4 * US),
    )
    first = replace(queued, transport=replace(queued.transport, cnp_first=True))
    held, heard = (
        run_packets(wiring, work, one, until_ps=5_000 * US, faults=[fault])
        for one in (queued, first)
    )
    assert held.tables["arrivals"]["arrive_ps"].max() == pytest.approx(655 * US, rel=0.002)
    assert heard.tables["arrivals"]["arrive_ps"].min() > 1.3 * 655 * US
