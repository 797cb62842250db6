"""Reduce-scatter: every rank ends with its part of the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.workload.collective_entry import CollectiveEntry
from netloom.workload.exchange import ring

if TYPE_CHECKING:
    from netloom.workload.collective_entry import ExchangePlan
    from netloom.workload.dag import Dag

__all__ = ["ENTRY"]


def _transfers(plan: ExchangePlan) -> Dag:
    return ring("reduce-scatter", plan.orders(), plan.size_bytes, slices=plan.slices or 1)


ENTRY = CollectiveEntry(
    name="reduce_scatter",
    bus_factor=lambda n: (n - 1) / n,
    ring_steps=lambda n: n - 1,
    ring_bytes=lambda size, n: size * (n - 1) / n,
    fill_share=0.5,
    is_reducing=False,
    is_sharded=True,
    is_direct=False,
    has_partners=False,
    is_rooted=False,
    counts_gathered=False,
    chakra_code=7,
    transfers=_transfers,
)
