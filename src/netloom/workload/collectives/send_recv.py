"""Send and receive: every rank sends a message to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.workload.collective_entry import CollectiveEntry
from netloom.workload.exchange import send_recv

if TYPE_CHECKING:
    from netloom.workload.collective_entry import ExchangePlan
    from netloom.workload.dag import Dag

__all__ = ["ENTRY"]


def _transfers(plan: ExchangePlan) -> Dag:
    return send_recv(plan.group, np.roll(plan.group, -1), plan.size_bytes)


ENTRY = CollectiveEntry(
    name="send_recv",
    bus_factor=lambda _: 1.0,
    ring_steps=lambda n: n,
    ring_bytes=lambda size, _: size,
    fill_share=0.5,
    is_reducing=False,
    is_sharded=False,
    is_direct=True,
    has_partners=False,
    is_rooted=False,
    counts_gathered=False,
    chakra_code=None,
    transfers=_transfers,
)
