"""Many values of one number over a window of time, summed up so that summaries add.

A counter may start again (a device rebooted, or it was cleared): a value below the one before
it counts from zero, as in Prometheus' ``increase``. What was counted between the last look and
the reset is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Summary", "step", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The values of one number in a window.

    ``a + b`` is the summary of the values of *a* followed by those of *b*.

    Attributes:
        count: How many values.
        first: The first of them.
        last: The last of them.
        least: The smallest.
        most: The largest.
        total: Their sum.
        increase: By how much a counter rose from the first to the last.
    """

    count: int
    first: float
    last: float
    least: float
    most: float
    total: float
    increase: float

    @classmethod
    def of(cls, value: float) -> Summary:
        """Return the summary of one value."""
        return cls(
            count=1, first=value, last=value, least=value, most=value, total=value, increase=0.0
        )

    @property
    def mean(self) -> float:
        """Of the values; each counts the same, however long it held."""
        return self.total / self.count

    def __add__(self, later: Summary) -> Summary:
        return Summary(
            count=self.count + later.count,
            first=self.first,
            last=later.last,
            least=min(self.least, later.least),
            most=max(self.most, later.most),
            total=self.total + later.total,
            increase=self.increase + step(self.last, later.first) + later.increase,
        )


def step(before: float, after: float) -> float:
    """Return by how much a counter rose between two looks."""
    return after - before if after >= before else after


def summarise(values: Iterable[float | None]) -> Summary | None:
    """Return the summary of *values*, oldest first; those that are None are passed over."""
    some = (Summary.of(value) for value in values if value is not None)
    first = next(some, None)
    return None if first is None else reduce(Summary.__add__, some, first)
