"""Static routes on a wiring (d-mod-k): which digit of a destination each switch looks at.

The rules of the packet engine's core, so that one scenario has the same ways in both engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring import Wiring

__all__ = ["strides"]

_FAR: Final = 1 << 30
_MOST_TIERS: Final = 8


def strides(wiring: Wiring) -> NDArray[np.int64]:
    """Return of each vertex the uplinks of the tiers below it, multiplied: the weight of its digit.

    Between two tiers the lower one's digit decides, up and down: parallel links down to a switch
    are shared by what is below it, as its own uplinks are.
    """
    tier = _tiers(wiring)
    source, target = wiring.link_source, wiring.link_target
    rises = tier[source] < tier[target]
    up = np.bincount(source[rises], minlength=wiring.num_vertices)
    width = np.ones(_MOST_TIERS + 1, dtype=np.int64)
    np.maximum.at(width, np.minimum(tier, _MOST_TIERS), up)
    # A switch of tier l takes the digit of weight w_1 ... w_(l-1); endpoints (w_0) take none.
    weight = np.concatenate([[1, 1], np.cumprod(width[1:_MOST_TIERS])])
    found = weight[np.minimum(tier, _MOST_TIERS)]
    found[: wiring.num_endpoints] = 1
    return np.asarray(found, dtype=np.int64)


def _tiers(wiring: Wiring) -> NDArray[np.int64]:
    """Return how many links each vertex is away from the nearest endpoint."""
    tier = np.full(wiring.num_vertices, _FAR, dtype=np.int64)
    tier[: wiring.num_endpoints] = 0
    for level in range(wiring.num_vertices):
        reached = wiring.link_target[tier[wiring.link_source] == level]
        fresh = reached[tier[reached] > level + 1]
        if not len(fresh):
            break
        tier[fresh] = level + 1
    return tier
