"""All-to-all: every rank sends a part to every other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.workload.collective_entry import CollectiveEntry
from netloom.workload.exchange import all_to_all

if TYPE_CHECKING:
    from netloom.workload.collective_entry import ExchangePlan
    from netloom.workload.dag import Dag

__all__ = ["ENTRY"]


def _transfers(plan: ExchangePlan) -> Dag:
    return all_to_all(
        plan.group, plan.size_bytes, in_flight=plan.in_flight, distances=plan.distances
    )


ENTRY = CollectiveEntry(
    name="all_to_all",
    bus_factor=lambda n: (n - 1) / n,
    ring_steps=lambda n: n,
    ring_bytes=lambda size, _: size,
    fill_share=0.5,
    is_reducing=False,
    is_sharded=False,
    is_direct=True,
    has_partners=True,
    is_rooted=False,
    counts_gathered=False,
    chakra_code=6,
    transfers=_transfers,
)
