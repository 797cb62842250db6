"""Senders spray packets over source ports, as UET does."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="spray",
    switches="ecmp",
    senders="mixed",  # uet-htsim main_uec.cpp: MIXED unless told otherwise
    max_paths=256,
    in_flows=True,
)
