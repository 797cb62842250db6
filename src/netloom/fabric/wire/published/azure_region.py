"""Azure's storage between buildings of a region."""

from __future__ import annotations

from netloom.fabric.wire.lossless_ethernet import Marking
from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="azure-region",
    summary="Azure's storage between buildings of a region",
    marking=Marking(kmin_bytes=1_000_000, kmax_bytes=2_000_000, pmax=0.05),
    marking_rate_bps=0.0,
    queue_shares=None,
    alpha=0.0,
    congestion_control="",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation="Bai et al., Empowering Azure Storage with RDMA, NSDI 2023: 1 MB, 2 MB, 5 %",
        confidence="published",
        note="At 40 Gb/s with round trips of up to 1.8 ms",
    ),
)
