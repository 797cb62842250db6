"""A flow may change its link after a silence."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="flowlet",
    switches="flowlet",
    senders="fixed",
    max_paths=32_768,
    in_flows=True,
)
