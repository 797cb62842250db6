"""A link that repeats what was corrupted on it: link-level retry (Ultra Ethernet 1.0, LLR).

The sender keeps what it sent until the far end has answered, and repeats from the packet that was
lost (go-back-N, hop by hop; arXiv:2508.08906, section 3.5.1, in an account of it). It protects
against corruption; congestion is flow control's.
"""

from __future__ import annotations

from typing import Final

from netloom.fabric.wire.recovery import go_back_n_share

__all__ = ["NUM_REPLAYS", "replay_bytes", "residual_loss", "retry_s", "retry_share"]

NUM_REPLAYS: Final = 1  # that are counted on; what the specification allows was not found


def residual_loss(loss: float, *, num_replays: int = NUM_REPLAYS) -> float:
    """Return the chance that a packet and each of its repeats are lost."""
    assert 0 <= loss < 1, loss
    return float(loss ** (num_replays + 1))


def replay_bytes(*, rate_bps: float, link_rtt_s: float, packet_bytes: float) -> float:
    """Return what a port must keep to repeat: a round trip of the link, and a packet."""
    return rate_bps * link_rtt_s / 8 + packet_bytes


def retry_share(loss: float, *, rate_bps: float, link_rtt_s: float, packet_bytes: float) -> float:
    """Return the useful share of a link when each loss repeats what the link holds."""
    window = replay_bytes(rate_bps=rate_bps, link_rtt_s=link_rtt_s, packet_bytes=packet_bytes)
    return go_back_n_share(loss, window_packets=window / packet_bytes)


def retry_s(*, rate_bps: float, link_rtt_s: float, packet_bytes: float) -> float:
    """Return by how much a packet that was lost once comes later: the link's round trip, and it."""
    return link_rtt_s + packet_bytes * 8 / rate_bps
