"""Swift: Kumar et al. (SIGCOMM 2020)."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="swift",
    catalogue_names=(),
    marks=None,
    telemetry="none",
    telemetry_bytes=0,
    cnp_interval_ps=0,
    needs_every_ack=True,
    acks_per_rtt=0.0,
    goes_with_pulls=False,
    pulled_parameters={},
    throttles_receivers=True,
    is_off_by_default=False,
)
