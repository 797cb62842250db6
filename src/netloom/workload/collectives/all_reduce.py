"""All-reduce: every rank ends with the sum of all vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.workload.collective_entry import CollectiveEntry
from netloom.workload.exchange import ring

if TYPE_CHECKING:
    from netloom.workload.collective_entry import ExchangePlan
    from netloom.workload.dag import Dag

__all__ = ["ENTRY"]


def _transfers(plan: ExchangePlan) -> Dag:
    return ring("all-reduce", plan.orders(), plan.size_bytes, slices=plan.slices or 1)


ENTRY = CollectiveEntry(
    name="all_reduce",
    bus_factor=lambda n: 2 * (n - 1) / n,
    ring_steps=lambda n: 2 * (n - 1),
    ring_bytes=lambda size, n: size * (2 * (n - 1)) / n,
    fill_share=1.0,
    is_reducing=True,
    is_sharded=False,
    is_direct=False,
    has_partners=False,
    is_rooted=False,
    counts_gathered=False,
    chakra_code=0,
    transfers=_transfers,
)
