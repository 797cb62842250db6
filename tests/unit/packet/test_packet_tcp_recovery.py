"""How TCP makes losses good: RACK-TLP (RFC 8985) and proportional rate reduction (RFC 9937).

Packets of 1000 bytes without headers take 80 ns at 100 Gb/s; two links of 1 us there and two back,
each packet stored once on the way, and answers that take no time: 4.16 us from departure to answer.
A fault loses what arrives at the end of the first link, 1.08 us after it left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import star, transfers

from netloom.engines.packet import PacketFault, PacketSettings, Transport, run_packets
from netloom.engines.packet.lower import Recording

US = 1_000_000
PACKET_PS = 80_000
RTT_PS = 4 * US + 2 * PACKET_PS
LINK_PS = US + PACKET_PS
TIMEOUT_PS = 200_000 * US
ALL = 1 - 1e-12
TCP = Transport(
    payload_bytes=1000,
    header_bytes=0,
    gap_bytes=0,
    least_bytes=0,
    ack_bytes=0,
    recovery="selective",
    timeout_ps=TIMEOUT_PS,
    max_doublings=9,
    disorder_packets=3,
    probe_rtts=2.0,
)


def lost(first_ps: int, last_ps: int | None = None) -> list[PacketFault]:
    """Return the loss of what leaves from one time to another, both included."""
    around = (first_ps - PACKET_PS // 2, (last_ps or first_ps) + PACKET_PS // 2)
    return [
        PacketFault(when_ps=when + LINK_PS, kind="loss", link=0, loss=share)
        for when, share in zip(around, (ALL, 0.0), strict=True)
    ]


class Run:
    """A message of so many packets, and when they left."""

    def __init__(
        self,
        packets: int,
        window: int,
        faults: list[PacketFault],
        *,
        scheme: str = "reno",
        host: Transport = TCP,
    ) -> None:
        settings = PacketSettings(
            flow_control="lossy",
            congestion_control=scheme,
            parameters={"first_packets": window},
            transport=host,
        )
        made = transfers([(0, 1)], 1000 * packets)
        ends = run_packets(
            star(2), made, settings, faults=faults, watch=Recording(max_trace=20_000)
        )
        trace = ends.tables["trace"]
        data = (trace["form"] == "data") & (trace["link"] == 0)
        self.when_ps = trace["when_ps"][data].astype(np.int64)
        self.again = trace["again"][data]
        self.counters = ends.counters
        self.finish_ps = int(ends.finish_ps[0])

    def repeats_by_round(self) -> list[int]:
        """Return how many packets were sent again in each round trip since the first."""
        when = self.when_ps[self.again]
        return [int(n) for n in np.bincount((when - when[0]) // RTT_PS)]

    def silent(self) -> tuple[int, int]:
        """Return how many probes and timeouts there were."""
        return self.counters["probes"], self.counters["timeouts"]


@pytest.mark.parametrize(("scheme", "kept"), [("reno", 0.5), ("cubic", 0.7)])
def test_one_loss_costs_a_cut_and_no_timeout(scheme: str, kept: float) -> None:
    # Slow start from 20 packets; the first is lost. Its third later arrival tells, and by then two
    # answers have added a packet each: of 22 packets half, or 0.7 of them, are left (15.4). In
    # recovery the window does not grow; it lasts until the 22 are acknowledged, a round trip after
    # the repetition. The round after it sends that window.
    run = Run(2_000, 20, lost(0), scheme=scheme)
    assert run.silent() == (0, 0)
    assert run.counters["retransmissions"] == 1
    again_ps = int(run.when_ps[run.again][0])
    assert again_ps == RTT_PS + 3 * PACKET_PS
    ended_ps = again_ps + RTT_PS
    after = (run.when_ps >= ended_ps) & (run.when_ps < ended_ps + RTT_PS)
    assert after.sum() == pytest.approx(int(22 * kept), abs=1)


@pytest.mark.parametrize(
    ("num_lost", "rounds"),
    [
        # Of 40 packets; 42 when the loss is known, and 21 are to be left. Few losses: half of what
        # arrives leaves, and the 36 or 30 arrivals of the first round trip repeat all.
        (4, [4]),
        (10, [10]),
        # 30 lost: 9 are in flight, less than 21: what arrives lets as much go. 10 and the two that
        # slow start added arrive in the first round trip, the first two of which before the loss is
        # known; the second round trip repeats the other 20, two for each that arrives.
        (30, [10, 20]),
        # 36 lost: 4 + 2 - 2 arrivals in the first, twice as many in the second, 16 in the third,
        # the other 8 in the fourth.
        (36, [4, 8, 16, 8]),
    ],
)
def test_many_losses_are_repaired_in_round_trips(num_lost: int, rounds: list[int]) -> None:
    run = Run(2_000, 40, lost(0, (num_lost - 1) * PACKET_PS))
    assert run.silent() == (0, 0)
    assert run.counters["lost"] == run.counters["retransmissions"] == num_lost
    assert run.repeats_by_round() == rounds


def test_a_whole_window_is_repaired_from_one_probe() -> None:
    # Ten packets, then twenty, which all are lost: they left from 4.16 us on, each time two for an
    # answer, the last 0.72 + 0.08 us later. Two round trips after that one packet more leaves, a
    # new one; its answer tells that twenty are lost, and lets one go: 1, 2, 4 and 8 in a round trip
    # and the other 5, where the window may be 10 again.
    begin_ps, end_ps = RTT_PS, RTT_PS + 9 * PACKET_PS + PACKET_PS
    run = Run(500, 10, lost(begin_ps, end_ps + 9 * PACKET_PS))
    assert run.counters["lost"] == 20
    assert run.silent() == (1, 0)
    quiet = int(np.argmax(np.diff(run.when_ps)))
    assert run.when_ps[quiet + 1] - run.when_ps[quiet] == 2 * RTT_PS
    assert run.repeats_by_round() == [1, 2, 4, 8, 5]


def test_two_later_arrivals_tell_a_quarter_of_a_round_trip_later() -> None:
    # The third packet from the end is lost, and three later arrivals never come. It is given a
    # round trip and a quarter of the empty one (RFC 8985, section 6.2).
    whole = Run(40, 40, [])
    last_ps = int(whole.when_ps[-1])
    run = Run(40, 40, lost(last_ps - 2 * PACKET_PS))
    assert run.silent() == (0, 0)
    lost_ps = last_ps - 2 * PACKET_PS
    assert run.when_ps[run.again][0] == pytest.approx(lost_ps + 5 * RTT_PS / 4, abs=2)


def test_a_lost_repetition_is_told_by_what_left_after_it() -> None:
    # The first of 20 packets is lost, and so is its repetition. In recovery the first answer to a
    # packet that left later tells: every other answer lets a packet go, so the next one leaves two
    # packets after the repetition, and is heard a round trip later.
    first_ps = RTT_PS + 3 * PACKET_PS
    run = Run(500, 20, lost(0) + lost(first_ps))
    assert run.silent() == (0, 0)
    again = run.when_ps[run.again]
    assert len(again) == 2
    assert again[0] == first_ps
    next_ps = run.when_ps[run.when_ps > first_ps][0]
    assert again[1] == next_ps + RTT_PS


def test_a_lost_repetition_with_nothing_behind_it_waits_for_the_timeout() -> None:
    # Neither a probe, which recovery does not send (RFC 8985, section 7.2), nor later packets: all
    # twenty left before.
    first_ps = RTT_PS + 3 * PACKET_PS
    run = Run(20, 20, lost(0) + lost(first_ps))
    assert run.silent() == (0, 1)
    again = run.when_ps[run.again]
    last_answer_ps = 19 * PACKET_PS + RTT_PS
    assert again[1] - last_answer_ps == TIMEOUT_PS


def test_a_lost_probe_leaves_the_timeout() -> None:
    # The last ten of 30 packets are lost and, two round trips after they left, the probe as well.
    whole = Run(30, 30, [])
    last_ps = int(whole.when_ps[-1])
    tail = lost(last_ps - 9 * PACKET_PS, last_ps)
    told = Run(30, 30, tail)
    assert told.silent() == (1, 0)
    probe_ps = int(told.when_ps[told.again][0])
    run = Run(30, 30, tail + lost(probe_ps))
    assert run.silent() == (1, 1)
    assert run.when_ps[run.again][1] == probe_ps + TIMEOUT_PS


def test_a_lone_packet_is_given_the_time_of_a_delayed_answer() -> None:
    # The last of 30 packets is lost, and nothing else is out: two round trips, and 300 us.
    host = replace(TCP, ack_delay_ps=300 * US, probe_margin_ps=20 * US)
    lone = Run(30, 30, lost(29 * PACKET_PS), host=host)
    two = Run(30, 30, lost(28 * PACKET_PS, 29 * PACKET_PS), host=host)
    assert lone.silent() == two.silent() == (1, 0)
    heard_ps = 28 * PACKET_PS + RTT_PS  # the last answer but one
    assert lone.when_ps[lone.again][0] == heard_ps + 2 * RTT_PS + 320 * US
    assert two.when_ps[two.again][0] == heard_ps - PACKET_PS + 2 * RTT_PS + 20 * US


def test_a_probe_that_repairs_a_loss_cuts_the_window() -> None:
    # 10 + 20 packets, of which the last is lost and repaired by the probe: a loss like any other
    # (RFC 8985, section 7.4.2). The window was 27 (20 answers, of which those with half of it in
    # flight add), and half is left, where a message goes on.
    made = replace(
        transfers([(0, 1)] * 2, [30_000, 100_000], start_ps=[0, 100 * US]),
        source_port=np.full(2, 50_000, dtype=np.uint16),
    )
    settings = PacketSettings(flow_control="lossy", congestion_control="reno", transport=TCP)
    watch = Recording(max_trace=20_000)
    free = run_packets(star(2), made, settings, watch=watch)
    trace = free.tables["trace"]
    first = (trace["form"] == "data") & (trace["link"] == 0) & (trace["transfer"] == 0)
    faults = lost(int(trace["when_ps"][first][-1]))
    ends = run_packets(star(2), made, settings, faults=faults, watch=watch)
    assert (ends.counters["probes"], ends.counters["timeouts"]) == (1, 0)
    trace = ends.tables["trace"]
    second = (trace["form"] == "data") & (trace["link"] == 0) & (trace["transfer"] == 1)
    assert (trace["when_ps"][second] < 100 * US + RTT_PS).sum() == 13
