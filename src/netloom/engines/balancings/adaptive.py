"""Each packet takes the least loaded link."""

from __future__ import annotations

from netloom.engines.balancing import LoadBalancing

__all__ = ["ENTRY"]

ENTRY = LoadBalancing(
    name="adaptive",
    switches="adaptive",
    senders="fixed",
    max_paths=32_768,
    in_flows=True,
)
