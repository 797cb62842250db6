"""Packets are cut into cells that take all links in turn."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="cells",
    switches="cells",
    senders="fixed",
    max_paths=32_768,
    in_flows=True,
)
