"""DCQCN as published, for 40 Gb/s."""

from __future__ import annotations

from netloom.fabric.wire.lossless_ethernet import Marking
from netloom.fabric.wire.published_settings import PublishedSettings
from netloom.provenance import Source

__all__ = ["ENTRY"]

ENTRY = PublishedSettings(
    name="dcqcn-paper",
    summary="DCQCN as published, for 40 Gb/s",
    marking=Marking(kmin_bytes=5_000, kmax_bytes=200_000, pmax=0.01),
    marking_rate_bps=0.0,
    queue_shares=None,
    alpha=0.0,
    congestion_control="dcqcn",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(
        citation="Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015",
        confidence="secondary",
        note="For 40 Gb/s; the paper gives no scaling, and none is applied",
    ),
)
