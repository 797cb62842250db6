"""Senders take source ports in turn, whatever comes back."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="oblivious",
    switches="ecmp",
    senders="oblivious",
    max_paths=32_768,
    in_flows=False,
)
