"""Switches read the next link from the packet, as uet-htsim's source routing."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="source",
    switches="source",
    senders="fixed",
    max_paths=32_768,
    in_flows=False,
)
