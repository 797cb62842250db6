"""InfiniBand congestion control (annex A10)."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme
from netloom.engines.packet.schemes.marking import red

__all__ = ["ENTRY"]

# congestion_control is FALSE in the options that opensm -c writes (OpenSM 3.3.23): off by default.
ENTRY = Scheme(
    name="ib-cc",
    catalogue_names=(),
    marks=red,
    telemetry="none",
    telemetry_bytes=0,
    cnp_interval_ps=1,  # BECN answers every mark (InfiniBand annex A10; recalled)
    needs_every_ack=False,
    acks_per_rtt=0.0,
    goes_with_pulls=False,
    pulled_parameters={},
    throttles_receivers=True,
    is_off_by_default=True,
)
