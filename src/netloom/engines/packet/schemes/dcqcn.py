"""DCQCN as published: Zhu et al. (SIGCOMM 2015)."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme
from netloom.engines.packet.schemes.marking import red

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="dcqcn",
    catalogue_names=(),
    marks=red,
    telemetry="none",
    telemetry_bytes=0,
    cnp_interval_ps=50_000_000,  # Zhu et al. (SIGCOMM 2015)
    needs_every_ack=False,
    acks_per_rtt=0.0,
    goes_with_pulls=False,
    pulled_parameters={},
    throttles_receivers=True,
    is_off_by_default=False,
)
