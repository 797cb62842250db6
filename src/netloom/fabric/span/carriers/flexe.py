"""FlexE: slots of 5 Gb/s on bonded 100G PHYs."""

from __future__ import annotations

from typing import Final

from netloom.fabric.span.calendar import SLOT_NOMINAL_BPS, SLOT_PAYLOAD_BPS
from netloom.fabric.span.carrier import Carrier

__all__ = ["ENTRY"]

ENTRY: Final = Carrier(
    name="flexe",
    title="FlexE: slots of 5 Gb/s on bonded 100G PHYs",
    guarantees=(
        "A constant rate of its own, and a jitter of at most one calendar round and one "
        "largest frame."
    ),
    strands="Every slot that its client leaves idle, and the rest of the last slot.",
    costs="A FlexE shim at each end; PHYs of one group of equal rate.",
    end_latency_s=2e-6,
    slot_bps=SLOT_NOMINAL_BPS,
    payload_share=SLOT_PAYLOAD_BPS / SLOT_NOMINAL_BPS,
    has_bound=True,
)
