"""Senders reuse the source ports of unmarked packets (REPS)."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="reps",
    switches="ecmp",
    senders="reps",
    max_paths=32_768,
    in_flows=False,
)
