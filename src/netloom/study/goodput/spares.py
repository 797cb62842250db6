"""Spare nodes: how many are away for repair, and how many must stand by."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["enough_share", "spares_needed"]

# ByteRobust (arXiv:2509.16293) keeps standby machines for the 99th percentile of failures.
SUFFICIENT: Final = 0.99
_NORMAL_FROM: Final = 600.0  # exp(-mean) is next to the smallest double


def enough_share(spares: int, away: float) -> float:
    """Return how much of the time no more than *spares* nodes are away.

    Nodes break independently and come back after a fixed time, so their number is Poisson.

    Args:
        spares: Nodes that stand by.
        away: Nodes that are away on average: failure rate times repair time.
    """
    if away > _NORMAL_FROM:
        return 0.5 * math.erfc((away - spares - 0.5) / math.sqrt(2 * away))
    term = math.exp(-away)
    total = term
    for count in range(1, spares + 1):
        term *= away / count
        total += term
    return min(total, 1.0)


def spares_needed(away: float, *, sufficient: float = SUFFICIENT) -> int:
    """Return the fewest spares that are enough for a *sufficient* share of the time."""
    low, high = 0, 1
    while enough_share(high, away) < sufficient:
        low, high = high, 2 * high
    if enough_share(low, away) >= sufficient:
        return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough_share(middle, away) >= sufficient else (middle, high)
    return high
