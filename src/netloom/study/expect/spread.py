"""How far a measured bus bandwidth may be from the expected one, from what was measured nearby."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.validated.collectives import (
    collective_groups,
    group_doubt,
    judging_groups,
    nearest_groups,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.validated.collectives import CollectiveGroup, CollectivePoint

__all__ = ["SHARE", "factor_of", "spread_of"]

SHARE: Final = 0.9  # of measured rows that an interval is to hold
# Of a normal distribution: the half of it lies within 0.6745 deviations, nine tenths in 1.6449.
_HALF: Final = 0.6745
_NINE_TENTHS: Final = 1.6449
# The same configuration run again differs by 1 to 7 % in the median of a size band; no group's
# error is taken for less than this.
_LEAST_PCT: Final = 3.0
_FAR_PCT: Final = 30.0  # where nothing near was measured, at least


def spread_of(point: CollectivePoint, groups: Sequence[CollectiveGroup] | None = None) -> float:
    """Return the standard deviation of ln(measured / expected) at *point*.

    It is that of a normal distribution whose middle half is as wide as the median error of the
    groups near the point, outside what was validated at least as wide as the bound that such
    rows are held to. Where nothing is near, it is that of the nearest groups, and at least 30 %.

    Args:
        point: What is asked for.
        groups: What was measured; the shipped table by default.
    """
    known = collective_groups() if groups is None else groups
    near = judging_groups(point, known)
    if near:
        least = near[0].bound_pct if group_doubt(point, known) else _LEAST_PCT
        return _deviation(max(least, _error_pct(near)))
    far = nearest_groups(point, known)
    return _deviation(max(_FAR_PCT, _error_pct(far) if far else 0.0))


def factor_of(spread: float) -> float:
    """Return how many times the expected value the upper end of the interval is."""
    return math.exp(_NINE_TENTHS * spread)


def _deviation(error_pct: float) -> float:
    return math.log1p(error_pct / 100) / _HALF


def _error_pct(groups: Sequence[CollectiveGroup]) -> float:
    return median(one.median_error_pct for one in groups for _ in range(one.rows))
