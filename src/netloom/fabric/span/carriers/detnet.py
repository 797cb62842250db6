"""DetNet: reserved flows over IP, MPLS or TSN."""

from __future__ import annotations

from typing import Final

from netloom.fabric.span.carrier import Carrier

__all__ = ["ENTRY"]

ENTRY: Final = Carrier(
    name="detnet",
    title="DetNet: reserved flows over IP, MPLS or TSN",
    guarantees=(
        "A bound on delay and no loss by congestion for flows inside their reservation; loss "
        "by failure only where both copies are lost (PREOF)."
    ),
    strands="Reserved bandwidth that no other bounded flow may use; best effort may.",
    costs=(
        "Reservation along an explicit route, shaping at the edge, and twice the bandwidth "
        "where flows are replicated."
    ),
    end_latency_s=4e-6,
    slot_bps=None,
    payload_share=1.0,
    has_bound=True,
)
