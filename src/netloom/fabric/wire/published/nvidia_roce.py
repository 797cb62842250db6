"""Default of 'nv set qos roce' and of Onyx."""

from __future__ import annotations

from netloom.fabric.wire.lossless_ethernet import Marking
from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="nvidia-roce",
    summary="Default of 'nv set qos roce' and of Onyx",
    marking=Marking(kmin_bytes=150_000, kmax_bytes=1_500_000, pmax=1.0),
    marking_rate_bps=0.0,
    queue_shares=None,
    alpha=0.0,
    congestion_control="",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation="NVIDIA Cumulus Linux and Onyx guides, RoCE: 150 KB to 1.5 MB",
        confidence="published",
        note="The share at Kmax is recalled; one pair for all rates",
    ),
)
