"""HPCC with INT: Li et al. (SIGCOMM 2019)."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="hpcc",
    catalogue_names=(),
    marks=None,
    telemetry="every-hop",
    telemetry_bytes=42,  # HPCC-ns3 int-header.h: 5 hops of 8 bytes and 2
    cnp_interval_ps=0,
    needs_every_ack=True,
    acks_per_rtt=0.0,
    goes_with_pulls=False,
    pulled_parameters={},
    throttles_receivers=True,
    is_off_by_default=False,
)
