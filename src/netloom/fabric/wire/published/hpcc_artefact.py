"""What HPCC's artefact gives DCQCN, by rate."""

from __future__ import annotations

from netloom.fabric.wire.lossless_ethernet import Marking
from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="hpcc-artefact",
    summary="What HPCC's artefact gives DCQCN, by rate",
    marking=Marking(kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2),
    marking_rate_bps=25000000000.0,
    queue_shares=None,
    alpha=0.0,
    congestion_control="",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation="HPCC-ns3 run.py @9f4be2a: 100 KB and 400 KB x rate / 25 Gb/s, 0.2",
        confidence="published",
    ),
)
