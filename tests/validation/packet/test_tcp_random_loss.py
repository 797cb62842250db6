"""TCP's average window under random loss, against the square root formula and RFC 9438's rules.

A sender alone on a path of 100 Gb/s, packets of 1000 bytes without headers, each acknowledged, each
lost with probability p: nothing but losses bounds the window. Counted from the second message of a
connection on, when slow start is long over.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from wires import star, transfers

from netloom.engines.packet import PacketFault, PacketSettings, Transport, run_packets

pytestmark = pytest.mark.validation

# Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance
# algorithm" (CCR 27(3), 1997), table 1 (recalled): window x sqrt(p), an acknowledgement a packet.
PERIODIC: Final = math.sqrt(3 / 2)
RANDOM: Final = 1.31
TCP: Final = Transport(
    payload_bytes=1000,
    header_bytes=0,
    gap_bytes=0,
    least_bytes=0,
    ack_bytes=0,
    recovery="selective",
    timeout_ps=200_000_000_000,
    disorder_packets=3,
    probe_rtts=2.0,
)
CUBIC_C: Final = 0.4  # RFC 9438, section 5.1
CUBIC_BETA: Final = 0.7  # section 4.6


def average_window(scheme: str, loss: float, rtt_s: float, num_packets: int) -> float:
    """Return the packets that a sender has in flight on average."""
    work = transfers([(0, 1)] * 2, [250 * num_packets, 1000 * num_packets])
    work = replace(work, source_port=np.full(2, 50_000, dtype=np.uint16))
    settings = PacketSettings(flow_control="lossy", congestion_control=scheme, transport=TCP)
    faults = [PacketFault(when_ps=0, kind="loss", link=0, loss=loss)]
    ends = run_packets(
        star(2, delay_ps=round(rtt_s * 1e12 / 4)), work, settings, faults=faults, seed=1
    )
    assert ends.counters["timeouts"] == 0
    took_s = (ends.finish_ps[1] - ends.finish_ps[0]) * 1e-12
    return num_packets * rtt_s / float(took_s)


class Rounds:
    """A window by the rules of RFC 9438, a round trip a step."""

    def __init__(self, rtt_s: float) -> None:
        self.rtt_s = rtt_s
        self.window = self.before = self.plateau = self.reno = 50.0
        self.climb_s = self.since_s = 0.0

    def grow(self) -> None:
        """Sections 4.2 to 4.5."""
        self.reno += 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) if self.reno < self.before else 1
        self.since_s += self.rtt_s
        target = CUBIC_C * (self.since_s - self.climb_s) ** 3 + self.plateau
        if target < self.reno:
            self.window = max(self.reno, self.window)
        else:
            self.window = min(max(target, self.window), 1.5 * self.window)

    def cut(self) -> None:
        """Sections 4.6 and 4.7."""
        self.before = self.window
        grew = self.window >= self.plateau
        self.plateau = self.window if grew else self.window * (1 + CUBIC_BETA) / 2
        self.window *= CUBIC_BETA
        self.reno, self.since_s = self.window, 0.0
        self.climb_s = math.cbrt((self.plateau - self.window) / CUBIC_C)


def cubic_in_rounds(loss: float, rtt_s: float, num_rounds: int = 100_000) -> float:
    """Return the average window with random losses.

    A round that loses a packet is followed by one that does not know yet and grows, and then by one
    of recovery, which does not grow; losses of the former are part of the same cut.
    """
    draws = np.random.default_rng(5).random(num_rounds)
    flow = Rounds(rtt_s)
    sent = 0.0
    known = recovers = False
    for draw in draws.tolist():
        sent += flow.window
        lost = draw > (1 - loss) ** flow.window
        if not recovers:
            flow.grow()
        recovers = known and not recovers
        if recovers:
            flow.cut()
        known = lost and not recovers
    return sent / num_rounds


@pytest.mark.parametrize("scheme", ["reno", "dctcp"])
@pytest.mark.parametrize(("loss", "num_packets"), [(1e-2, 200_000), (1e-3, 1_000_000)])
def test_reno_has_the_window_of_the_square_root_formula(
    scheme: str, loss: float, num_packets: int
) -> None:
    found = average_window(scheme, loss, 1e-3, num_packets) * math.sqrt(loss)
    assert found == pytest.approx(RANDOM, rel=0.1)
    assert found == pytest.approx(PERIODIC, rel=0.1)


@pytest.mark.parametrize("rtt_s", [1e-3, 0.1])
def test_cubic_has_the_window_of_its_rules_where_it_is_as_fast_as_reno(rtt_s: float) -> None:
    found = average_window("cubic", 1e-3, rtt_s, 1_000_000)
    assert found == pytest.approx(cubic_in_rounds(1e-3, rtt_s), rel=0.05)


def test_cubic_has_the_window_of_its_rules_where_it_is_faster() -> None:
    # Five round trips from cut to cut, so that steps of whole round trips are coarse. RFC 9438,
    # section 5.1, has losses in even distances, and 187 packets; Reno has 39.
    even = (CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25 * 1e3**0.75
    found = average_window("cubic", 1e-3, 1.0, 1_000_000)
    assert found == pytest.approx(cubic_in_rounds(1e-3, 1.0), rel=0.2)
    assert found == pytest.approx(even, rel=0.2)
