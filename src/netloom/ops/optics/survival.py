"""When a link is expected to drop: a margin that drifts to zero, beside sudden failures.

The margin is taken as a Wiener process with drift; the time until it is used up is then inverse
Gaussian, as usual for parts that wear (Doksum and Hoyland, Technometrics 1992; recalled). The
drift is not known exactly, so the time is averaged over its error. Sudden failures come on top at
the rate of links that fail: 0.057 % a month (Alibaba HPN, SIGCOMM 2024, section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DAY_S", "SUDDEN_PER_S", "DropForecast", "forecast"]

DAY_S: Final = 86_400.0
SUDDEN_PER_S: Final = 5.7e-4 / (30 * DAY_S)
# What a trend's own figures leave out: it speeds up, slows down or stops (assumed; the bench shows
# how often the interval holds).
SHAPE: Final = 0.35  # of the slope, standard deviation
QUANTILES: Final = (0.1, 0.5, 0.9)
MAX_DAYS: Final = 3650.0
MIN_NOISE_DB: Final = 1e-3  # less is none
_DRIFTS: Final = tuple(NormalDist().inv_cdf((k + 0.5) / 16) for k in range(16))


@dataclass(frozen=True, slots=True, kw_only=True)
class DropForecast:
    """When a link drops.

    Attributes:
        low_s: Nine of ten links like it last longer.
        median_s: Half of them do.
        high_s: One of ten does.
        day_chance: That it drops within a day.
        week_chance: Within a week.
    """

    low_s: float
    median_s: float
    high_s: float
    day_chance: float
    week_chance: float

    @property
    def severity(self) -> str:
        """How soon to act: ``now``, ``this week`` or ``plan``."""
        if self.day_chance >= 0.5:
            return "now"
        return "this week" if self.week_chance >= 0.5 else "plan"


def forecast(
    *, margin_db: float, slope_db_d: float, error_db_d: float, noise_db: float
) -> DropForecast:
    """Return when a margin is used up.

    Args:
        margin_db: What is left.
        slope_db_d: Of it, decibels a day; negative where it falls.
        error_db_d: Standard error of that.
        noise_db: By how much it moves in a day beside.
    """
    left = max(margin_db, 0.0)
    spread = math.hypot(error_db_d, SHAPE * slope_db_d)
    drifts = [max(-slope_db_d + spread * z, 0.0) for z in _DRIFTS]

    def chance(days: float) -> float:
        worn = sum(_passed(left, one, noise_db, days) for one in drifts) / len(drifts)
        return 1 - (1 - worn) * math.exp(-SUDDEN_PER_S * days * DAY_S)

    low, median, high = (_solve(chance, share) for share in QUANTILES)
    return DropForecast(
        low_s=low * DAY_S,
        median_s=median * DAY_S,
        high_s=high * DAY_S,
        day_chance=chance(1.0),
        week_chance=chance(7.0),
    )


def _passed(margin_db: float, drift_db_d: float, noise_db: float, days: float) -> float:
    """Return the chance that a Wiener process has used its margin up: the inverse Gaussian law."""
    if margin_db <= 0:
        return 1.0
    scale = max(noise_db, MIN_NOISE_DB) * math.sqrt(days)
    if noise_db < MIN_NOISE_DB:
        return float(drift_db_d * days >= margin_db)
    if scale == 0:
        return 0.0
    ahead = _below((drift_db_d * days - margin_db) / scale)
    power = 2 * drift_db_d * margin_db / noise_db**2
    back = _below(-(drift_db_d * days + margin_db) / scale)
    turned = math.exp(power + math.log(back)) if back > 0 and power < 700 else 0.0
    return min(1.0, ahead + turned)


def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _solve(chance: Callable[[float], float], share: float) -> float:
    """Return the days after which a chance is as large as *share*; at most ten years."""
    low, high = 0.0, MAX_DAYS
    if chance(high) < share:
        return MAX_DAYS
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) >= share else (middle, high)
    return high
