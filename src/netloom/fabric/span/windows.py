"""What must be in flight, or have room, to keep a long line full."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CREDIT_BYTES_PER_LANE",
    "bdp_bytes",
    "credit_rate_bps",
    "credit_reach_m",
    "message_rate_bps",
    "pfc_headroom_bytes",
    "skew_bytes",
]

# InfiniBand's credit field: at most 128 KiB for each virtual lane of a lane pair (derived in
# shared facts from the 12-bit credit limit in 64-byte blocks, halved for wrap-around).
CREDIT_BYTES_PER_LANE: Final = 131_072.0
# What a sender still sends after the pause arrives: two largest frames and the pause itself, at
# each end, and the response time of IEEE 802.1Qbb annex O (recalled).
PFC_CONSTANT_BYTES: Final = 2 * 9_216 + 64
PFC_RESPONSE_BITS: Final = 60 * 512


def bdp_bytes(rate_bps: float, round_trip_s: float) -> float:
    """Return what is in flight on a full path."""
    return rate_bps * round_trip_s / 8


def pfc_headroom_bytes(rate_bps: float, one_way_s: float, *, constants: bool = True) -> float:
    """Return the buffer a lossless priority of one port needs beyond its threshold."""
    fixed = PFC_CONSTANT_BYTES + PFC_RESPONSE_BITS / 8 if constants else 0.0
    return bdp_bytes(rate_bps, 2 * one_way_s) + fixed


def credit_reach_m(rate_bps: float, *, delay_per_km_s: float = 5e-6) -> float:
    """Return how far InfiniBand's credits keep one lane full."""
    return CREDIT_BYTES_PER_LANE * 8 / rate_bps / (2 * delay_per_km_s) * 1e3


def credit_rate_bps(length_m: float, rate_bps: float, *, delay_per_km_s: float = 5e-6) -> float:
    """Return the rate that credits allow over *length_m*."""
    round_trip_s = 2 * length_m / 1e3 * delay_per_km_s
    return min(rate_bps, CREDIT_BYTES_PER_LANE * 8 / round_trip_s)


def message_rate_bps(size_bytes: float, round_trip_s: float, *, in_flight: int = 1) -> float:
    """Return the throughput of *in_flight* messages that each wait for an answer."""
    return in_flight * size_bytes * 8 / round_trip_s


def skew_bytes(difference_m: float, rate_bps: float, *, delay_per_km_s: float) -> float:
    """Return what a receiver reorders when packets take routes of different lengths."""
    return difference_m / 1e3 * delay_per_km_s * rate_bps / 8
