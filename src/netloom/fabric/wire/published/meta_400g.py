"""Meta at 400 Gb/s: pauses alone, DCQCN off."""

from __future__ import annotations

from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="meta-400g",
    summary="Meta at 400 Gb/s: pauses alone, DCQCN off",
    marking=None,
    marking_rate_bps=0.0,
    queue_shares=None,
    alpha=0.0,
    congestion_control="none",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation=(
            "Gangidi et al., RDMA over Ethernet for Distributed AI Training at Meta Scale, "
            "SIGCOMM 2024"
        ),
        confidence="secondary",
        note="Receivers admit transfers there, which the collective library does and this does not",
    ),
)
