"""Senders mix a bitmap of paths with those that came back unmarked."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="mixed",
    switches="ecmp",
    senders="mixed",
    max_paths=256,
    in_flows=False,
)
