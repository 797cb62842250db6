"""Network calculus: what a shaped class may wait at most, and how much of it may queue.

Sources are token buckets (burst b, rate r), servers rate-latency curves (rate R, latency T). With
r <= R the delay is at most T + b/R and the backlog at most b + r T; a tandem of servers is one of
the least rate and the sum of latencies (Le Boudec and Thiran, Network Calculus, chapter 1). A
source that is not shaped has no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CUT_BYTES",
    "PREEMPTED_BYTES",
    "CreditClass",
    "PriorityClass",
    "RateLatency",
    "TokenBucket",
    "concatenated",
    "cycle_delays_s",
    "priority_server",
    "shaper_server",
    "window_server",
]

PREEMPTED_BYTES: Final = 143.0  # what pre-emption cannot cut: 123 bytes and overhead (recalled)
CUT_BYTES: Final = 24.0  # what each cut adds: a check sum, a gap and a preamble (recalled)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket:
    """An arrival curve: at most *burst_bytes* and *rate_bps* times the time."""

    burst_bytes: float
    rate_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLatency:
    """A service curve: *rate_bps* after *latency_s* at the latest."""

    rate_bps: float
    latency_s: float

    def delay_bound_s(self, arrivals: TokenBucket) -> float | None:
        """Return the longest delay; None where more arrives than is served."""
        if arrivals.rate_bps > self.rate_bps:
            return None
        return self.latency_s + arrivals.burst_bytes * 8 / self.rate_bps

    def backlog_bound_bytes(self, arrivals: TokenBucket) -> float | None:
        """Return the most that queues; None where more arrives than is served."""
        if arrivals.rate_bps > self.rate_bps:
            return None
        return arrivals.burst_bytes + arrivals.rate_bps * self.latency_s / 8

    def output(self, arrivals: TokenBucket) -> TokenBucket:
        """Return the arrival curve of what leaves."""
        more = arrivals.rate_bps * self.latency_s / 8
        return TokenBucket(burst_bytes=arrivals.burst_bytes + more, rate_bps=arrivals.rate_bps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """A class at a port; *priority* is sent before lower ones."""

    name: str
    priority: int
    arrivals: TokenBucket
    frame_bytes: float = 9_216.0


def concatenated(servers: Sequence[RateLatency]) -> RateLatency:
    """Return a tandem as one server: bursts are paid once."""
    return RateLatency(
        rate_bps=min(one.rate_bps for one in servers),
        latency_s=sum(one.latency_s for one in servers),
    )


def priority_server(
    port_bps: float,
    asked: PriorityClass,
    others: Sequence[PriorityClass],
    *,
    preempts: bool = False,
) -> RateLatency | None:
    """Return what *asked* gets of a port with strict priorities; None where nothing is left.

    Classes of its own priority share its queue: their bursts are before it at worst, so they count
    as higher ones do.
    """
    before = [one for one in others if one.priority >= asked.priority]
    below = [one for one in others if one.priority < asked.priority]
    left_bps = port_bps - sum(one.arrivals.rate_bps for one in before)
    if left_bps <= 0:
        return None
    blocking = max((one.frame_bytes for one in below), default=0.0)
    if preempts:
        blocking = min(blocking, PREEMPTED_BYTES)
    waits_bytes = sum(one.arrivals.burst_bytes for one in before) + blocking
    return RateLatency(rate_bps=left_bps, latency_s=waits_bytes * 8 / left_bps)


def window_server(
    port_bps: float, window_s: float, cycle_s: float, *, frame_bytes: float = 0.0
) -> RateLatency | None:
    """Return what a class gets that a gate lets through for *window_s* of every *cycle_s*.

    A frame that would not end before its gate closes waits for the next window, so up to one frame
    of each is left unused. None where nothing is left.
    """
    used_s = window_s - frame_bytes * 8 / port_bps
    if used_s <= 0:
        return None
    return RateLatency(rate_bps=port_bps * used_s / cycle_s, latency_s=cycle_s - used_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditClass:
    """A class behind a credit-based shaper: its idleSlope and its largest frame."""

    idle_slope_bps: float
    frame_bytes: float

    def least_bytes(self, port_bps: float) -> float:
        """Return loCredit, below 0: what one frame costs."""
        return -self.frame_bytes * (1 - self.idle_slope_bps / port_bps)


def shaper_server(
    port_bps: float,
    asked: CreditClass,
    *,
    higher: Sequence[CreditClass] = (),
    lower_frame_bytes: float,
) -> RateLatency | None:
    """Return what a class gets of credit-based shapers (802.1Qav); None where nothing is left.

    Rate idleSlope, latency hiCredit / idleSlope: since the last time that it had neither frames nor
    debts, a class has sent idleSlope times the time, less its credit (de Azua and Boyer, RTNS 2014;
    recalled). The credit rises for as long as one lower frame and what higher shapers have saved up
    meanwhile take.
    """
    left_bps = port_bps - sum(one.idle_slope_bps for one in higher)
    if left_bps < asked.idle_slope_bps:
        return None
    saved_bytes = -sum(one.least_bytes(port_bps) for one in higher)
    waits_s = (lower_frame_bytes + saved_bytes) * 8 / left_bps
    return RateLatency(rate_bps=asked.idle_slope_bps, latency_s=waits_s)


def cycle_delays_s(
    num_hops: int, cycle_s: float, *, shifts: Sequence[int] = ()
) -> tuple[float, float]:
    """Return the least and the longest delay through bridges that send cycle by cycle.

    CQF (802.1Qch): what comes in a cycle goes in the next, so *num_hops* bridges take between h - 1
    and h + 1 cycles. ECQF (802.1Qdv): *shifts* are the cycles from a frame's being sent by a bridge
    until the next one sends it on, for each link between bridges.
    """
    hops = 1 + sum(shifts) if shifts else num_hops
    return (hops - 1) * cycle_s, (hops + 1) * cycle_s
