"""ConWeave's: HPCC's thresholds, not scaled."""

from __future__ import annotations

from netloom.fabric.wire.lossless_ethernet import Marking
from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="conweave",
    summary="ConWeave's: HPCC's thresholds, not scaled",
    marking=Marking(kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2),
    marking_rate_bps=0.0,
    queue_shares=None,
    alpha=0.0,
    congestion_control="",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation="conweave-ns3 run.py and README: 100 and 400 KB at every rate, 0.2",
        confidence="published",
    ),
)
