"""How far the switches of a wiring are from its endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["tiers"]


def tiers(wiring: PacketTopology, *, over_scale_up: bool = True) -> NDArray[np.int64]:
    """Return how many links each vertex is from its nearest endpoint; -1 where there is no way."""
    there = over_scale_up | ~wiring.link_scale_up
    source, target = wiring.link_source[there], wiring.link_target[there]
    tier = np.full(wiring.num_vertices, -1, dtype=np.int64)
    tier[: wiring.num_endpoints] = 0
    level = 0
    while True:
        reached = target[(tier[source] == level) & (tier[target] < 0)]
        if not len(reached):
            return tier
        level += 1
        tier[reached] = level
