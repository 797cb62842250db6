"""TSN: gates and shapers of IEEE 802.1 at each hop."""

from __future__ import annotations

from typing import Final

from netloom.fabric.span.carrier import Carrier

__all__ = ["ENTRY"]

ENTRY: Final = Carrier(
    name="tsn",
    title="TSN: gates and shapers of IEEE 802.1 at each hop",
    guarantees=(
        "A bound on delay for scheduled or shaped streams, zero jitter where every frame is "
        "scheduled."
    ),
    strands="A guard band at every gate, and windows that their streams leave idle.",
    costs=(
        "One clock for all bridges (802.1AS), and long links need cycles that span them (ECQF)."
    ),
    end_latency_s=2e-6,
    slot_bps=None,
    payload_share=1.0,
    has_bound=True,
)
