"""Destination mod k at each switch."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="d-mod-k",
    switches="d-mod-k",
    senders="fixed",
    max_paths=32_768,
    in_flows=False,
)
