"""What lost packets cost: the share of a link that survives them, and the tail they cause.

*loss* is the chance that a packet is lost on one link for reasons other than congestion; losses
are independent. Loss by congestion belongs to the packet engine. The formulas of the literature are
cited from memory; tests hold them to hand-made examples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.parts.parts import Technology

__all__ = [
    "NCCL_TIMEOUT_EXPONENT",
    "SELECTIVE_TIMEOUT_S",
    "TCP_TIMEOUT_S",
    "added_s",
    "cubic_window_packets",
    "efficiency",
    "go_back_n_share",
    "local_ack_timeout_s",
    "message_loss",
    "num_packets",
    "path_loss",
    "rate_limit_bps",
    "reno_window_packets",
    "selective_repeat_share",
    "timeout_s",
]

# NCCL_IB_TIMEOUT, NCCL src/transport/net_ib.cc: 20, that is 4.29 s.
NCCL_TIMEOUT_EXPONENT: Final = 20
# Minimum retransmission timeout of UET and MRC NICs: accounts of both specifications (secondary).
SELECTIVE_TIMEOUT_S: Final = 100e-6
# TCP_RTO_MIN, Linux include/net/tcp.h: HZ / 5 (recalled).
TCP_TIMEOUT_S: Final = 0.2

_TCP_LIKE: Final = ("tcp", "iwarp")


def path_loss(loss: float, *, num_links: float) -> float:
    """Return the chance that a packet is lost on a path: 1 - (1 - loss)^links."""
    assert 0 <= loss < 1, loss
    return -math.expm1(num_links * math.log1p(-loss))


def go_back_n_share(loss: float, *, window_packets: float) -> float:
    """Return the useful share of packets when each loss resends the window behind it.

    (1 - p) / (1 - p + pW): Bertsekas and Gallager, Data Networks, section 2.4.2.
    """
    return (1 - loss) / (1 - loss + loss * max(1.0, window_packets))


def selective_repeat_share(loss: float) -> float:
    """Return the useful share of packets when only the lost one is resent: 1 - p (ibid.)."""
    return 1 - loss


def reno_window_packets(loss: float) -> float:
    """Return the mean window of a TCP flow: sqrt(3 / (2p)).

    Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of the TCP congestion avoidance
    algorithm, CCR 1997; every packet acknowledged, no timeouts. DCTCP meets loss the same way
    (RFC 8257, section 3.5).
    """
    return math.sqrt(1.5 / loss) if loss > 0 else math.inf


def cubic_window_packets(loss: float, *, rtt_s: float) -> float:
    """Return the mean window of a CUBIC flow, not below Reno's.

    (C (3 + b) / (4 (1 - b)))^(1/4) (rtt / p)^(3/4) with b = 0.7, C = 0.4: RFC 9438, section 5.1.
    """
    if loss == 0:
        return math.inf
    cubic = math.pow(0.4 * 3.7 / 1.2, 0.25) * math.pow(rtt_s / loss, 0.75)
    return max(reno_window_packets(loss), cubic)


def rate_limit_bps(technology: Technology, *, rate_bps: float) -> float:
    """Return what one NIC can be fed with: the line, or what its host's CPUs push through it."""
    return min(rate_bps, technology.host_rate_bps or math.inf)


def efficiency(technology: Technology, *, loss: float, num_links: float, rtt_s: float) -> float:
    """Return the share of the line that is left when packets are lost and resent.

    Args:
        technology: Gives the way of recovery, the rate and the packet size.
        loss: Of one link.
        num_links: Links on the path.
        rtt_s: Round trip, without queues.
    """
    lost = path_loss(loss, num_links=num_links)
    packet_bits = 8 * (technology.payload_bytes + technology.header_bytes)
    in_flight = technology.rate_bps * rtt_s / packet_bits
    if technology.transport in _TCP_LIKE:
        return _tcp_share(technology, lost=lost, rtt_s=rtt_s, in_flight=in_flight)
    if technology.recovery == "go-back-n":
        return go_back_n_share(lost, window_packets=1 + in_flight)
    return selective_repeat_share(lost)


def _tcp_share(technology: Technology, *, lost: float, rtt_s: float, in_flight: float) -> float:
    if lost == 0:
        return 1.0
    is_cubic = "cubic" in technology.congestion_control.lower()
    window = cubic_window_packets(lost, rtt_s=rtt_s) if is_cubic else reno_window_packets(lost)
    filled = technology.flows_per_rank * window / in_flight if in_flight > 0 else math.inf
    return min(1.0, filled) * selective_repeat_share(lost)


def num_packets(message_bytes: float, technology: Technology) -> int:
    """Return the packets of a message, at least one."""
    return max(1, math.ceil(message_bytes / technology.payload_bytes))


def message_loss(
    message_bytes: float, technology: Technology, *, loss: float, num_links: float
) -> float:
    """Return the chance that a message loses any packet on its path."""
    packets = num_packets(message_bytes, technology)
    return path_loss(loss, num_links=num_links * packets)


def local_ack_timeout_s(exponent: int) -> float:
    """Return an RC queue pair's timeout: 4.096 us x 2^t (InfiniBand vol. 1, section 9.7.6.1.3)."""
    return math.ldexp(4.096e-6, exponent)


def timeout_s(technology: Technology) -> float:
    """Return how long a sender waits for a lost last packet, which no later one betrays."""
    if technology.transport in _TCP_LIKE:
        return TCP_TIMEOUT_S
    if technology.transport in ("uet", "mrc", "srd", "cxi"):
        return SELECTIVE_TIMEOUT_S
    return local_ack_timeout_s(NCCL_TIMEOUT_EXPONENT)


def added_s(
    message_bytes: float,
    technology: Technology,
    *,
    loss: float,
    num_links: float,
    rtt_s: float,
    num_messages: float = 1,
) -> float:
    """Return the expected time that loss adds to the slowest of *num_messages* messages.

    A lost packet that others follow is reported by the receiver and costs a round trip; a lost
    last packet costs a timeout. With q = 1 - p for a packet and N packets in each of M messages,

        timeout (1 - q^M) + rtt q^M (1 - q^(M (N - 1))).

    Each message is delayed once at most: what many losses cost a long message is its rate, which
    is :func:`efficiency`. So this is the tail alone, and it grows with the size of a group.
    """
    lost = path_loss(loss, num_links=num_links)
    last = path_loss(lost, num_links=num_messages)
    earlier = num_messages * (num_packets(message_bytes, technology) - 1)
    return timeout_s(technology) * last + rtt_s * (1 - last) * path_loss(lost, num_links=earlier)
