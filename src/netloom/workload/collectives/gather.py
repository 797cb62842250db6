"""Gather: every rank sends its part to the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.workload.collective_entry import CollectiveEntry
from netloom.workload.exchange import gather

if TYPE_CHECKING:
    from netloom.workload.collective_entry import ExchangePlan
    from netloom.workload.dag import Dag

__all__ = ["ENTRY"]


def _transfers(plan: ExchangePlan) -> Dag:
    return gather(plan.group, plan.size_bytes)


ENTRY = CollectiveEntry(
    name="gather",
    bus_factor=lambda n: (n - 1) / n,
    ring_steps=lambda n: n,
    ring_bytes=lambda size, _: size,
    fill_share=0.5,
    is_reducing=False,
    is_sharded=False,
    is_direct=True,
    has_partners=True,
    is_rooted=True,
    counts_gathered=False,
    chakra_code=3,
    transfers=_transfers,
)
