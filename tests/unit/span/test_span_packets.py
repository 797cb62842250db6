"""Packets over hundreds of kilometres: rings, time-outs, codes, edges of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from wires import star, transfers, wiring

from netloom.engines.packet import (
    Ecn,
    PacketFault,
    PacketSettings,
    Pfc,
    SwitchSettings,
    Transport,
    VertexSettings,
    run_packets,
)
from netloom.engines.packet.presets import RECOVERIES
from netloom.engines.packet.rings import ring_packets
from netloom.engines.packet.vertex import AZURE_POOL
from netloom.errors import InfeasibleError, SpecError

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery
    from netloom.fabric.wiring.wiring import PacketTopology

US: Final = 1_000_000
SPAN: Final = 4  # the link from the near to the far switch
RATE_BPS: Final = 400e9
WIRE_SHARE: Final = 4_096 / (4_096 + 62 + 20)
DEEP: Final = SwitchSettings(buffer_bytes=1 << 31)


def line(km: float, *, rate_bps: float = RATE_BPS) -> PacketTopology:
    """Return two hosts with a switch each, and a fibre of 5 us/km between these."""
    delay_ps = [100_000, 100_000, round(km * 5 * US)]
    return wiring(2, [(0, 2), (1, 3), (2, 3)], rate_bps=rate_bps, delay_ps=delay_ps)


def sent(
    km: float, size_bytes: int, transport: Transport, *, loss: float = 0.0, seed: int = 1
) -> Delivery:
    settings = PacketSettings(flow_control="lossy", switch=DEEP, transport=transport)
    faults = [PacketFault(when_ps=0, kind="loss", link=SPAN, loss=loss)] if loss else []
    return run_packets(
        line(km), transfers([(0, 1)], size_bytes), settings, seed=seed, faults=faults
    )


def duration_s(delivery: Delivery) -> float:
    return float(delivery.finish_ps[0] - delivery.start_ps[0]) * 1e-12


def preset(name: str, **more: Any) -> Transport:
    return Transport(**{**RECOVERIES[name], **more})


@pytest.mark.parametrize("km", [100, 1_000, 3_750])
def test_selective_repeat_fills_400_gbps_at_any_distance(km: int) -> None:
    rtt_s = 2 * km * 5e-6
    size = round(2 * RATE_BPS / 8 * rtt_s)
    took_s = duration_s(sent(km, size, Transport(recovery="selective", timeout_ps=100 * US)))
    assert size * 8 / (took_s - rtt_s) == pytest.approx(RATE_BPS * WIRE_SHARE, rel=1e-3)


def test_a_ring_holds_two_round_trips_of_the_longest_way_or_the_whole_message() -> None:
    settings = PacketSettings(flow_control="lossy", transport=Transport(recovery="selective"))
    # 400 Gb/s x 10 ms = 500 MB: 122,120 packets in flight, and twice that is under 2^18.
    assert ring_packets(line(1_000), transfers([(0, 1)], 1 << 33), settings) == 1 << 18
    assert ring_packets(line(1_000), transfers([(0, 1)], 100_000_000), settings) == 1 << 15
    assert ring_packets(line(0.1), transfers([(0, 1)], 1 << 33), settings) == 4_096
    fixed = replace(settings, transport=Transport(recovery="selective", ring_packets=128))
    assert ring_packets(line(1_000), transfers([(0, 1)], 1 << 33), fixed) == 128


def test_of_waves_of_different_length_the_longest_counts() -> None:
    cables = [(0, 2), (1, 3), (2, 3), (2, 3)]
    two = wiring(2, cables, rate_bps=RATE_BPS, delay_ps=[0, 0, 100 * US, 20_000 * US])
    settings = PacketSettings(flow_control="lossy", transport=Transport(recovery="selective"))
    # 40 ms at 400 Gb/s: 488,000 packets.
    assert ring_packets(two, transfers([(0, 1)], 1 << 34), settings) == 1 << 20


def test_uet_over_1000_km_takes_nothing_for_lost_that_was_not() -> None:
    counters = sent(1_000, 128 << 20, preset("uet"), loss=1e-3).counters
    assert counters["lost"] > 10
    assert counters["timeouts"] == counters["lost"]
    assert counters["duplicates"] == 0


def test_go_back_n_sends_a_window_once_for_each_loss() -> None:
    transport = Transport(timeout_ps=4_000 * US, ask_every_packets=256)
    size = 1 << 29
    found = [sent(1_000, size, transport, loss=1e-5, seed=seed) for seed in range(1, 9)]
    windows = sum(one.counters["retransmissions"] for one in found) / 119_700
    # 131,072 packets each, 1.31 losses expected: 10.5 windows in all, and 3.2 as deviation.
    assert windows == pytest.approx(8 * 1.31, abs=2 * 3.2)
    assert sum(one.counters["timeouts"] for one in found) == 0
    assert sum(one.counters["duplicates"] for one in found) == 0


def test_a_timeout_is_as_many_round_trips_as_asked() -> None:
    # The only packet is lost, then not: 3 round trips of 1 ms, or 1.5.
    for rtts in (3.0, 1.5):
        transport = Transport(
            recovery="selective", timeout_ps=10 * US, timeout_rtts=rtts, ack_every_bytes=4_096
        )
        settings = PacketSettings(flow_control="lossy", transport=transport)
        faults = [
            PacketFault(when_ps=0, kind="loss", link=SPAN, loss=1 - 1e-9),
            PacketFault(when_ps=600 * US, kind="loss", link=SPAN, loss=0.0),
        ]
        found = run_packets(line(100), transfers([(0, 1)], 4_096), settings, seed=1, faults=faults)
        assert found.counters["timeouts"] == 1
        assert duration_s(found) == pytest.approx((rtts + 1) * 1e-3, rel=2e-3)
    with pytest.raises(SpecError, match="no answer comes that soon"):
        PacketSettings(transport=Transport(timeout_rtts=0.5))


def test_any_k_packets_of_a_block_are_enough() -> None:
    # Some 40 packets lost of 40,960: no block of 40 loses more than 8.
    found = sent(2_500, 128 << 20, preset("ec-32-8"), loss=1e-3)
    assert found.counters["lost"] > 20
    assert found.counters["retransmissions"] == found.counters["timeouts"] == 0
    assert found.counters["duplicates"] == 0
    assert found.counters["delivered_bytes"] == 128 << 20
    assert found.counters["data_packets"] == (128 << 20) // 4_096 * 40 // 32
    lossless = sent(2_500, 128 << 20, preset("ec-32-8"))
    assert duration_s(found) == pytest.approx(duration_s(lossless), rel=1e-3)


def test_a_block_beyond_its_code_waits_one_and_a_half_round_trips() -> None:
    lossless_s = duration_s(sent(2_500, 16 << 20, preset("ec-8-2")))
    found = sent(2_500, 16 << 20, preset("ec-8-2"), loss=5e-2, seed=2)
    assert found.counters["retransmissions"] > 0
    assert found.counters["delivered_bytes"] == 16 << 20
    # Blocks that lost three or more of ten fall back after 1.5 round trips of 25 ms.
    rounds = (duration_s(found) - lossless_s) / 0.0375
    assert rounds == pytest.approx(1.0, rel=0.05)


def test_an_exclusive_or_restores_less_than_a_code_of_the_same_size() -> None:
    again = {
        name: sum(
            sent(500, 32 << 20, preset(name), loss=1e-2, seed=seed).counters["retransmissions"]
            for seed in (1, 2, 3)
        )
        for name in ("ec-32-8", "xor-32-8")
    }
    assert again["ec-32-8"] == 0 < again["xor-32-8"]


@pytest.mark.parametrize("size", [1, 4_096, 4_097, 131_072, 131_073, 1_000_003])
def test_coded_transfers_of_any_size_arrive_once(size: int) -> None:
    for name in ("ec-32-8", "ec-8-2", "xor-32-8"):
        found = sent(50, size, preset(name), loss=0.05, seed=3)
        assert found.counters["delivered_bytes"] == size
        assert not found.partial


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code_data": 60}, "64 in all"),
        ({"code_xor": True, "code_parity": 0}, "1 to 32"),
        ({"ack_every_bytes": 0}, "the time that each packet is out"),
    ],
)
def test_a_code_that_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        PacketSettings(transport=preset("ec-32-8", **change))


def incast(num_senders: int, **own: Any) -> Delivery:
    """Return what becomes of as many senders of 1 MB at once into one port of 100 Gb/s."""
    net = star(num_senders + 1)
    switch = num_senders + 1
    settings = PacketSettings(
        flow_control="pfc",
        switch=SwitchSettings(reserve_bytes=0),
        transport=Transport(timeout_ps=4_000 * US),
        vertices={switch: replace(AZURE_POOL, **own)},
    )
    work = transfers([(sender, num_senders) for sender in range(num_senders)], 1_000_000)
    return run_packets(net, work, settings, seed=1)


def test_azures_pool_is_oversubscribed_and_holds_while_few_queues_are_paused() -> None:
    # 100 queues may ask for 96,928 bytes each, 9.7 MB of a pool of 6 MB.
    assert 100 * AZURE_POOL.headroom_bytes > AZURE_POOL.headroom_pool_bytes  # type: ignore[operator]
    assert incast(100).counters["drops"] == 0
    # Each of 100 links brings 2 us and some frames after its pause: 37 kB, 3.7 MB in all.
    assert incast(100, headroom_pool_bytes=3_000_000).counters["drops"] > 0
    # Without a pool the switch would have to hold headroom for all of them.
    own = VertexSettings(buffer_bytes=9_000_000, headroom_bytes=96_928)
    settings = PacketSettings(vertices={100: own})
    with pytest.raises(InfeasibleError, match="a pool that its headroom shares"):
        run_packets(star(100), transfers([(0, 1)], 1), settings)


def test_an_edge_has_its_own_buffer_and_a_pfc_span_needs_one() -> None:
    work = transfers([(0, 1)], 1_000_000)
    plain = PacketSettings(flow_control="pfc")
    with pytest.raises(InfeasibleError, match=r"v[23] has 128000000 bytes, and headroom"):
        run_packets(line(1_000), work, plain)
    deep = {vertex: VertexSettings(buffer_bytes=2_000_000_000) for vertex in (2, 3)}
    assert not run_packets(line(1_000), work, replace(plain, vertices=deep)).partial


def test_marks_follow_the_switch() -> None:
    own = VertexSettings(ecn=Ecn(kmin_bytes=0, kmax_bytes=1, pmax=1.0, at_rate_bps=0))
    work = transfers([(0, 2), (1, 2)], 1_000_000)
    never = PacketSettings(ecn=Ecn(kmin_bytes=1 << 40, kmax_bytes=1 << 41))
    assert run_packets(star(3), work, never).counters["marks"] == 0
    marked = replace(never, vertices={3: own})
    assert run_packets(star(3), work, marked).counters["marks"] > 100
    off = replace(never, ecn=own.ecn, vertices={3: VertexSettings(ecn="off")})  # type: ignore[arg-type]
    assert run_packets(star(3), work, off).counters["marks"] == 0


def test_a_near_port_tells_far_senders_and_no_others() -> None:
    # 0 sends far (link of 1 ms to 2), 1 near (to 3): both through switch 4 and its uplink.
    cables = [(0, 4), (1, 4), (2, 6), (3, 5), (4, 5), (5, 6)]
    net = wiring(4, cables, delay_ps=[500_000] * 5 + [1_000 * US])
    base = PacketSettings(
        congestion_control="dcqcn",
        ecn=Ecn(kmin_bytes=50_000, kmax_bytes=400_000, at_rate_bps=0),
        transport=Transport(cnp_interval_ps=50 * US, timeout_ps=4_000 * US),
        vertices={vertex: VertexSettings(buffer_bytes=100_000_000) for vertex in (5, 6)},
    )
    own = {**base.vertices, 4: VertexSettings(notice_ps=10 * US)}
    told = replace(base, vertices=own)
    both = transfers([(0, 2), (1, 3)], 5_000_000)
    assert run_packets(net, both, base, seed=1).counters["notices"] == 0
    assert run_packets(net, both, told, seed=1).counters["notices"] > 0
    near = transfers([(0, 3), (1, 3)], 5_000_000)
    assert run_packets(net, near, told, seed=1).counters["notices"] == 0
    with pytest.raises(SpecError, match="hears no notifications"):
        run_packets(net, both, replace(told, congestion_control="none"), seed=1)


def relayed(km: float, *, relays: bool) -> Delivery:
    """Return three senders over a span into one port, with a fifth of the headroom or a relay."""
    cables = [(h, 8) for h in range(4)] + [(h, 9) for h in range(4, 8)] + [(8, 9)]
    rates = [100e9] * 8 + [400e9]
    net = wiring(8, cables, rate_bps=rates, delay_ps=[500_000] * 8 + [round(km * 5 * US)])
    bdp = round(400e9 / 8 * 2 * km * 5e-6)
    room = 200_000 if relays else bdp // 5
    headroom = tuple(room if link == 16 else 200_000 for link in range(18))
    buffer = round(1.5 * bdp if relays else room) + 8_000_000
    edge = VertexSettings(
        buffer_bytes=buffer, alpha=8.0 if relays else 1.0, relayed=(16,) if relays else ()
    )
    settings = PacketSettings(
        pfc=Pfc(headroom_bytes=headroom),
        transport=Transport(timeout_ps=4_000 * US, ask_every_packets=256),
        vertices={8: VertexSettings(buffer_bytes=32_000_000), 9: edge},
    )
    work = transfers([(0, 4), (1, 4), (2, 4), (3, 5)] * 2, 20_000_000)
    return run_packets(net, work, settings, seed=1)


def test_a_relayed_span_loses_nothing_where_pauses_come_too_late() -> None:
    paused, told = relayed(100, relays=False), relayed(100, relays=True)
    assert paused.counters["drops"] > 1_000
    assert told.counters["drops"] == told.counters["retransmissions"] == 0
    assert told.counters["relays"] > 10
    assert told.finish_ps.max() < 0.86 * paused.finish_ps.max()
    # Three times 40 MB through 100 Gb/s, payload's share of it, and 1 ms: 10.8 ms.
    least_s = 6 * 20e6 * 8 / (100e9 * WIRE_SHARE)
    assert float(told.finish_ps.max()) * 1e-12 == pytest.approx(least_s + 1e-3, rel=0.1)


def test_an_idle_relay_costs_no_event() -> None:
    cables = [(0, 2), (1, 2), (2, 3)]
    net = wiring(2, cables, delay_ps=[500_000, 500_000, 1_000 * US])
    work = transfers([(0, 1)], 1_000_000)
    deep = VertexSettings(buffer_bytes=100_000_000)
    plain = PacketSettings(vertices={2: deep, 3: deep})
    own = replace(deep, relayed=(5,))
    with_relay = replace(plain, vertices={**plain.vertices, 2: own})
    found = [run_packets(net, work, one, seed=1) for one in (plain, with_relay)]
    assert found[0].counters["events"] == found[1].counters["events"]
    assert np.array_equal(found[0].finish_ps, found[1].finish_ps)


@pytest.mark.parametrize(
    ("vertex", "own", "words"),
    [
        (1, VertexSettings(buffer_bytes=1), "no such switch"),
        (3, VertexSettings(relayed=(0,)), "does not lead to it"),
    ],
)
def test_settings_of_a_vertex_that_cannot_be_are_refused(
    vertex: int, own: VertexSettings, words: str
) -> None:
    settings = PacketSettings(vertices={vertex: own})
    with pytest.raises(SpecError, match=words):
        run_packets(line(1), transfers([(0, 1)], 1), settings)


def test_a_pool_needs_pauses() -> None:
    settings = PacketSettings(
        flow_control="lossy", vertices={2: VertexSettings(headroom_pool_bytes=1)}
    )
    with pytest.raises(SpecError, match="belong to pauses"):
        run_packets(line(1), transfers([(0, 1)], 1), settings)
