"""Reduce: one rank ends with the sum of all, in slices along a chain that ends there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.workload.collective_entry import CollectiveEntry
from netloom.workload.exchange import broadcast

if TYPE_CHECKING:
    from netloom.workload.collective_entry import ExchangePlan
    from netloom.workload.dag import Dag

__all__ = ["ENTRY"]


def _transfers(plan: ExchangePlan) -> Dag:
    return broadcast(plan.group[::-1], plan.size_bytes, slices=plan.slices or 8)


ENTRY = CollectiveEntry(
    name="reduce",
    bus_factor=lambda _: 1.0,
    ring_steps=lambda n: n,
    ring_bytes=lambda size, _: size,
    fill_share=0.5,
    is_reducing=False,
    is_sharded=False,
    is_direct=False,
    has_partners=False,
    is_rooted=False,
    counts_gathered=False,
    chakra_code=1,
    transfers=_transfers,
)
