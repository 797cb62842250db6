"""OTN: ODUflex in an ODU4 or ODUCn."""

from __future__ import annotations

from typing import Final

from netloom.fabric.span.carrier import Carrier

__all__ = ["ENTRY"]

ENTRY: Final = Carrier(
    name="otn",
    title="OTN: ODUflex in an ODU4 or ODUCn",
    guarantees="A constant rate of its own and its delay; 50 ms protection where bought.",
    strands=(
        "Its tributary slots, whether they are used or not; a client fills them in steps of "
        "1.25 Gb/s."
    ),
    costs="OTN switches at each end: 5 to 20 us each, about 100 us with strong FEC.",
    end_latency_s=20e-6,
    slot_bps=1.25e9,
    payload_share=1.0,
    has_bound=False,
)
