"""Senders leave out source ports that came back marked."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="bitmap",
    switches="ecmp",
    senders="bitmap",
    max_paths=256,
    in_flows=False,
)
