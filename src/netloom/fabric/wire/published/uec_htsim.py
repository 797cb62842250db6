"""Marks of Ultra Ethernet's transport as its simulator has them."""

from __future__ import annotations

from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="uec-htsim",
    summary="Ultra Ethernet: 25 to 75 % of a queue of 100 packets",
    marking=None,
    marking_rate_bps=0.0,
    queue_shares=(0.25, 0.75),
    alpha=0.0,
    congestion_control="",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation="uet-htsim @40ccb05: marks from 25 to 75 of 100 packets",
        confidence="published",
        note="For fixed queues without pauses: technologies with transport uet",
    ),
)
