"""SPN: MTN paths, cross-connected block by block."""

from __future__ import annotations

from typing import Final

from netloom.fabric.span.calendar import SLOT_NOMINAL_BPS, SLOT_PAYLOAD_BPS
from netloom.fabric.span.carrier import Carrier

__all__ = ["ENTRY"]

ENTRY: Final = Carrier(
    name="spn",
    title="SPN: MTN paths, cross-connected block by block",
    guarantees=(
        "As FlexE, through intermediate nodes too (1 to 10 us each); MTN protection in 50 ms."
    ),
    strands=(
        "Every slot that its client leaves idle; fine-grain sub-slots of 10 Mb/s strand less."
    ),
    costs="SPN equipment (ITU-T G.8312) along the route.",
    end_latency_s=6e-6,
    slot_bps=SLOT_NOMINAL_BPS,
    payload_share=SLOT_PAYLOAD_BPS / SLOT_NOMINAL_BPS,
    has_bound=True,
)
