"""No congestion control: line rate until a pause, a credit or a loss."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="none",
    catalogue_names=("voq-credits",),
    marks=None,
    telemetry="none",
    telemetry_bytes=0,
    cnp_interval_ps=0,
    needs_every_ack=False,
    acks_per_rtt=0.0,
    goes_with_pulls=True,
    pulled_parameters={},
    throttles_receivers=True,
    is_off_by_default=False,
)
