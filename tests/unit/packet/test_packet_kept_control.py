"""A connection keeps its congestion control from one message to the next.

Packets of 1000 bytes without headers take 80 ns at 100 Gb/s; two links of 1 us there and two back,
each packet stored once on the way, and answers that take no time: 4.16 us from departure to answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from wires import star, transfers

from netloom.engines.packet import Ecn, PacketSettings, Transport, run_packets
from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.lower import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.workload.transfers import Transfers

US = 1_000_000
PACKET_PS = 80_000
ALL = 1 - 1e-12  # of packets are lost
RTT_PS = 4 * US + 2 * PACKET_PS
BARE = Transport(payload_bytes=1000, header_bytes=0, gap_bytes=0, least_bytes=0, ack_bytes=0)
SELECTIVE = replace(BARE, recovery="selective", timeout_ps=200_000 * US, disorder_packets=3)
TCP = replace(SELECTIVE, probe_rtts=2.0)


def messages(packets: Sequence[int], start_ps: Sequence[int] | int = 0) -> Transfers:
    """Return messages from 0 to 1, of so many packets, on one connection."""
    made = transfers([(0, 1)] * len(packets), [1000 * n for n in packets], start_ps=start_ps)
    return replace(made, source_port=np.full(len(packets), 50_000, dtype=np.uint16))


def run(
    asked: Transfers,
    settings: PacketSettings,
    faults: Sequence[PacketFault] = (),
    *,
    slow: bool = False,
) -> Delivery:
    wires = star(2, rate_bps=[100e9, 50e9] if slow else 100e9)
    return run_packets(wires, asked, settings, faults=faults, watch=Recording(max_trace=10_000))


def departures(delivery: Delivery, message: int) -> NDArray[np.int64]:
    """Return when the packets of a message left their sender."""
    table = delivery.tables["trace"]
    own = (table["form"] == "data") & (table["link"] == 0) & (table["transfer"] == message)
    return np.asarray(table["when_ps"][own], dtype=np.int64)


def test_a_rate_is_kept_and_its_timers_go_on() -> None:
    # Into a link of 50 Gb/s, which marks what has two packets behind it: the first notification is
    # back after some 5 us and halves the rate (alpha is 1 at first), so that a packet leaves every
    # 160 ns. The receiver's next one could come 50 us later. A message after 40 us goes on at that
    # rate; 55 us after the cut the rate is half way back to 100 Gb/s, whether anything is sent or
    # not: 8000 bits at 75 Gb/s are 106,666 ps.
    settings = PacketSettings(
        congestion_control="dcqcn",
        ecn=Ecn(kmin_bytes=2000, kmax_bytes=2000, pmax=1.0, at_rate_bps=0),
        transport=replace(BARE, cnp_interval_ps=50 * US),
    )
    ends = run(messages([100, 40, 40], [0, 40 * US, 70 * US]), settings, slow=True)
    assert np.diff(departures(ends, 0))[0] == PACKET_PS
    assert np.diff(departures(ends, 0))[-1] == 2 * PACKET_PS
    assert set(np.diff(departures(ends, 1)).tolist()) == {2 * PACKET_PS}
    assert np.diff(departures(ends, 2))[0] == 106_666


def test_notifications_of_a_connection_are_as_far_apart_as_those_of_a_message() -> None:
    settings = PacketSettings(
        congestion_control="dcqcn",
        ecn=Ecn(kmin_bytes=2000, kmax_bytes=2000, pmax=1.0, at_rate_bps=0),
        transport=replace(BARE, cnp_interval_ps=50 * US),
    )
    # Both are sent within 30 us, and both are marked.
    ends = run(messages([100, 100]), settings, slow=True)
    assert ends.counters["cnps"] == 1
    assert ends.counters["marks"] > 50  # of 200 packets


@pytest.mark.parametrize("scheme", ["reno", "cubic", "dctcp"])
def test_tcp_goes_on_with_the_window_that_it_has(scheme: str) -> None:
    # Slow start: ten packets, then twenty, each answer adding one while half of the window is in
    # use. Of the last twenty answers, with 20 - k in flight and a window of 20 + k, those are k = 0
    # to 6: the window ends at 27. The second message sends as many before it hears of the first.
    settings = PacketSettings(congestion_control=scheme, transport=TCP)
    ends = run(messages([30, 100], [0, 100 * US]), settings)
    assert (departures(ends, 0) < RTT_PS).sum() == 10
    assert (departures(ends, 1) < 100 * US + RTT_PS).sum() == 27
    fresh = run(messages([30, 100], [0, 300_000 * US]), settings)  # more than a timeout later
    assert (departures(fresh, 1) < 300_000 * US + RTT_PS).sum() == 10


def test_a_window_scheme_goes_on_with_the_window_that_it_has() -> None:
    # Swift below its delay: each answer adds 1/w to ten packets, thirty times.
    window = 10.0
    for _ in range(30):
        window += 1 / window
    settings = PacketSettings(congestion_control="swift", transport=SELECTIVE)
    ends = run(messages([30, 100], [0, 100 * US]), settings)
    assert int(window) == 12
    assert (departures(ends, 1) < 100 * US + RTT_PS).sum() == 12


@pytest.mark.parametrize("recovery", ["go-back-n", "selective"])
def test_what_is_out_of_the_message_before_counts_against_the_window(recovery: str) -> None:
    base = BARE if recovery == "go-back-n" else SELECTIVE
    ends = run(messages([6, 100]), PacketSettings(transport=replace(base, window_bytes=10_000)))
    assert (departures(ends, 0) < RTT_PS).sum() == 6
    assert (departures(ends, 1) < RTT_PS).sum() == 4


def test_a_lost_tail_is_told_by_the_next_message() -> None:
    # The last of 100 packets leaves after 7.92 us and is lost at the end of the link, at 9 us.
    # What leaves more than 1.04 us after it, a quarter of a round trip (RFC 8985), tells: the 14th
    # packet of the next message, at 9.04 us, whose answer is back at 13.2. The packet is then sent
    # again, and takes two links of 1 us and 80 ns.
    lost = (
        PacketFault(when_ps=8_950_000, kind="loss", link=0, loss=ALL),
        PacketFault(when_ps=9_050_000, kind="loss", link=0, loss=0.0),
    )
    ends = run(messages([100, 200]), PacketSettings(transport=TCP), lost)
    assert (ends.counters["lost"], ends.counters["retransmissions"]) == (1, 1)
    assert (ends.counters["probes"], ends.counters["timeouts"]) == (0, 0)
    arrived_ps = int(ends.tables["arrivals"]["arrive_ps"][0])
    again_ps = int(departures(ends, 0)[-1])
    assert again_ps == pytest.approx(9_040_000 + RTT_PS, abs=PACKET_PS)
    assert arrived_ps == again_ps + 2 * US + 2 * PACKET_PS


def test_a_repetition_that_is_lost_is_sent_again() -> None:
    # A packet is lost at 9 us; four later ones have arrived when it is sent again, one round
    # trip and four packets later, and lost again. The answer to what leaves a quarter of a round
    # trip after that tells, long before a timeout of 200 ms.
    first = [8_950_000, 9_050_000]
    again = [x + RTT_PS + 4 * PACKET_PS for x in first]
    lost = [
        PacketFault(when_ps=when, kind="loss", link=0, loss=ALL * (1 - n % 2))
        for n, when in enumerate([*first, *again])
    ]
    ends = run(messages([400]), PacketSettings(transport=TCP), lost)
    assert (ends.counters["lost"], ends.counters["retransmissions"]) == (2, 2)
    assert (ends.counters["probes"], ends.counters["timeouts"]) == (0, 0)
    assert ends.finish_ps.max() == pytest.approx(402 * PACKET_PS + RTT_PS, abs=PACKET_PS)
