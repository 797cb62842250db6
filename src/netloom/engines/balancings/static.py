"""Destination mod k at each switch: the catalogue's name for d-mod-k."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="static",
    switches="d-mod-k",
    senders="fixed",
    max_paths=32_768,
    in_flows=True,
)
