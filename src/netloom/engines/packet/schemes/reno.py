"""TCP Reno (RFC 5681)."""

from __future__ import annotations

from netloom.engines.packet.scheme import Scheme

__all__ = ["ENTRY"]

# Chelsio's NICs know Reno, Tahoe, NewReno and HighSpeed, and Linux asks for Tahoe
# (drivers/infiniband/hw/cxgb4/cm.c), which is not modelled: Reno stands in.
ENTRY = Scheme(
    name="reno",
    catalogue_names=("tcp in the NIC",),
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
