"""Constants from measured collectives: what each row implies, and the middle of that.

Both ``netloom calibrate network`` and the refits of ``netloom validate collectives`` stand on this.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from netloom.engines.base import Outcome
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective

__all__ = ["STEP", "TimedCollective", "bisected", "median_by_machine", "rising", "solved"]

STEP: Final = 1.1  # by which a constant is moved to see what it does
_ENGINE: Final = AnalyticEngine()
_MIN_EFFECT: Final = 1e-3  # of a row's time; a constant that does less is not decided by the row
_HALVINGS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCollective:
    """A collective as it was measured, and the network it ran on.

    Attributes:
        machine: Whose it is; rows of a machine count together.
        collective: What ran.
        network: Where.
        time_s: What it took.
        where: File and line, for people.
    """

    machine: str
    collective: Collective
    network: Network
    time_s: float
    where: str = ""

    def run(self, network: Network | None = None) -> Outcome:
        """Return the prediction, on *network* in place of its own where one is given."""
        return _ENGINE.run(self.collective, network or self.network)

    def predicted_s(self, network: Network | None = None) -> float:
        """Return how long it is predicted to take."""
        return self.run(network).duration_s


def median_by_machine(
    rows: Iterable[TimedCollective], implied: Callable[[TimedCollective], float | None]
) -> float | None:
    """Return the median over machines of the median of what their rows imply; None for no row."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        value = implied(row)
        if value is not None:
            found[row.machine].append(value)
    return median(map(median, found.values())) if found else None


def solved(
    start: float, here: float, there: float, measured: float, *, inverse: bool
) -> float | None:
    """Return the constant at which a row takes what was measured; None where it decides nothing.

    Args:
        start: The constant.
        here: What the row is predicted to take with it.
        there: The same with the constant times STEP.
        measured: What the row took.
        inverse: Whether times go with one over the constant, as with a share of a rate.
    """
    if abs(there - here) < _MIN_EFFECT * here:
        return None
    if inverse:
        slope = (there - here) / (1 / (start * STEP) - 1 / start)
        wanted = 1 / start + (measured - here) / slope
        return min(1.0, 1 / wanted) if wanted > 0 else None
    return start + (measured - here) * start * (STEP - 1) / (there - here)


def bisected(
    takes_s: Callable[[float], float], measured_s: float, *, least: float, most: float
) -> float | None:
    """Return the share of a rate at which something takes what was measured; None without effect.

    Args:
        takes_s: What it takes at a share; it falls or stays as the share grows.
        measured_s: What it took.
        least: The smallest share looked at.
        most: The largest, which is returned where even that takes longer than was measured.
    """
    quickest_s = takes_s(most)
    if measured_s <= quickest_s * (1 + _MIN_EFFECT):
        return most if takes_s(most / STEP) > quickest_s * (1 + _MIN_EFFECT) else None
    if measured_s >= takes_s(least):
        return None
    for _ in range(_HALVINGS):
        middle = math.sqrt(least * most)
        if takes_s(middle) > measured_s:
            least = middle
        else:
            most = middle
    return most


def rising(values: Iterable[float]) -> list[float]:
    """Return the nearest values that never fall: neighbours that do are replaced by their mean.

    >>> rising([1.0, 3.0, 2.0, 4.0])
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (low, few), (high, more) = pools[-1], pools.pop(-2)
            pools[-1] = ((low * few + high * more) / (few + more), few + more)
    return [mean for mean, count in pools for _ in range(count)]
