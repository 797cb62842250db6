"""NSCC as uet-htsim's published results were made with."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme
from netloom.engines.packet.schemes.marking import at_queue_shares

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="nscc-unscaled",
    catalogue_names=(),
    marks=at_queue_shares,
    telemetry="none",
    telemetry_bytes=0,
    cnp_interval_ps=0,
    needs_every_ack=True,
    acks_per_rtt=0.0,
    goes_with_pulls=False,
    pulled_parameters={"adapt_below": 0.0},
    throttles_receivers=False,
    is_off_by_default=False,
)
