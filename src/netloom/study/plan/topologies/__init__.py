"""A topology for a workload: proposed, built, costed and simulated with failures."""

from __future__ import annotations

from netloom.study.plan.topologies.search import TopologySearch, search_topologies

__all__ = ["TopologySearch", "search_topologies"]
