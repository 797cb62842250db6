"""How often a visitor may ask for something."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ACTS", "CHECKS", "JOBS", "LOGINS", "NOTES", "Rate", "RateLimits"]

MAX_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests in a period, refilled evenly."""

    name: str
    most: int
    period_s: float


ACTS: Final = Rate("acts", 6, 60.0)
JOBS: Final = Rate("jobs", 60, 60.0)
NOTES: Final = Rate("notes", 60, 60.0)
CHECKS: Final = Rate("checks", 20, 1.0)
LOGINS: Final = Rate("logins", 10, 60.0)


class RateLimits:
    """Token buckets by rate and visitor."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, rate: Rate, who: str) -> float:
        """Take one; return 0, or the seconds to wait where there is none left."""
        now_s = self._now()
        with self._lock:
            left, at_s = self._left.pop((rate.name, who), (float(rate.most), now_s))
            left = min(rate.most, left + (now_s - at_s) * rate.most / rate.period_s)
            taken = left >= 1
            self._left[rate.name, who] = (left - 1 if taken else left, now_s)
            if len(self._left) > MAX_KEPT:
                self._left.popitem(last=False)
        return 0.0 if taken else (1 - left) * rate.period_s / rate.most
