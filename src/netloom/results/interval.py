"""How sure a mean is: Student's t interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CONFIDENCE", "Interval", "mean_interval", "student_quantile"]

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The mean of a sample and its confidence interval.

    Attributes:
        low: None where one value says nothing of the spread.
        high: Likewise.
    """

    count: int
    mean: float
    low: float | None
    high: float | None
    least: float
    most: float


def mean_interval(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of *values*, at least one, and where the true mean lies.

    Student's t interval with n - 1 degrees of freedom: exact where the values are normally
    distributed, and close where there are many (n above 30 or so) or little skew.
    """
    mean = fmean(values)
    half = None
    if len(values) > 1:
        share = 0.5 + confidence / 2
        half = student_quantile(share, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(
        count=len(values),
        mean=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        least=min(values),
        most=max(values),
    )


@cache
def student_quantile(share: float, freedom: int) -> float:
    """Return the t below which *share* of Student's distribution lies; *share* over a half.

    Bisection of the closed form of the distribution.
    """
    low, high = 0.0, 1.0
    while _below(high, freedom) < share:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return high


def _below(t: float, freedom: int) -> float:
    """Return the share of Student's distribution below *t*.

    Abramowitz and Stegun (1964), 26.7.3 and 26.7.4: finite sums for whole degrees of freedom.
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= square * k / (k + 1)
    within = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + within / 2
