"""Which of many things hang together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["joined"]


def joined(num_things: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each thing the first of all that it is joined with, through others too.

    Args:
        num_things: How many there are.
        one: The one end of each joint.
        other: Its other end.
    """
    first = np.arange(num_things)
    while True:
        ends = first[one], first[other]
        low, high = np.minimum(*ends), np.maximum(*ends)
        apart = low != high
        if not apart.any():
            return first
        one, other, low, high = one[apart], other[apart], low[apart], high[apart]
        np.minimum.at(first, high, low)
        while not np.array_equal(first, first[first]):
            first = first[first]
