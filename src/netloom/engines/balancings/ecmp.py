"""A hash of each connection chooses among equal-cost links."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="ecmp",
    switches="ecmp",
    senders="fixed",
    max_paths=32_768,
    in_flows=True,
)
