"""DCTCP with a window: Alizadeh et al. (SIGCOMM 2010)."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme
from netloom.engines.packet.schemes.marking import step

__all__ = ["ENTRY"]

ENTRY = Scheme(
    name="dctcp",
    catalogue_names=(),
    marks=step,
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
