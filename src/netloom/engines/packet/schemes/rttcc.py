"""A stand-in for NVIDIA's ZTR-RTTCC, whose formulas are not published."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="rttcc",
    catalogue_names=("spectrum-x",),
    marks=None,
    telemetry="none",
    telemetry_bytes=0,
    cnp_interval_ps=0,
    needs_every_ack=False,
    acks_per_rtt=4.0,  # it sends probes of its own, how many is not published: assumed
    goes_with_pulls=False,
    pulled_parameters={},
    throttles_receivers=True,
    is_off_by_default=False,
)
