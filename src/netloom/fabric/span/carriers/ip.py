"""IP routers over waves, a queue for each priority."""

from __future__ import annotations

from typing import Final

from netloom.fabric.span.carrier import Carrier

__all__ = ["ENTRY"]

ENTRY: Final = Carrier(
    name="ip",
    title="IP routers over waves, a queue for each priority",
    guarantees=("Nothing beyond what queues give: delay and loss depend on what else is sent."),
    strands="Nothing: what one class leaves, another takes.",
    costs="A router port at each end.",
    end_latency_s=2e-6,
    slot_bps=None,
    payload_share=1.0,
    has_bound=False,
)
