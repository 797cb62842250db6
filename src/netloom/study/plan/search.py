"""The best of many configurations, piece by piece, so that a search can stop and go on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.study.plan.evaluate import batches
from netloom.study.plan.space import STANDINGS, Configuration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.study.plan.evaluate import Batch
    from netloom.study.plan.space import Standing
    from netloom.study.plan.tables import CostTables

__all__ = ["NUM_BEST", "Piece", "TimedConfiguration", "best_of", "search_piece"]

NUM_BEST: Final = 10
_DEGREES: Final = attrgetter(*(field.name for field in fields(Configuration)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedConfiguration:
    """A configuration and how long its step takes.

    Attributes:
        standing: Where it lies to the range that steps were checked in.
    """

    duration_s: float
    standing: Standing
    configuration: Configuration

    @property
    def order(self) -> tuple[Any, ...]:
        """What candidates of one machine are ranked by: time, then the degrees."""
        return (self.duration_s, *_DEGREES(self.configuration))


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What was found on one machine with one number of stages.

    Attributes:
        configurations: Looked at.
        feasible: Of these, fit in memory.
        candidates: The best of each standing.
    """

    configurations: int
    feasible: int
    candidates: tuple[TimedConfiguration, ...]


def search_piece(tables: CostTables, pipeline: int, *, machine: int) -> Piece:
    """Return the best configurations of *pipeline* stages.

    On one machine the time decides: cost and energy are proportional to it.
    """
    feasible = 0
    found: list[TimedConfiguration] = []
    for batch in batches(tables, pipeline):
        feasible += int(batch.fit.sum())
        new = [one for s in STANDINGS for one in _best(batch, machine, found, standing=s)]
        found = best_of([*found, *new])
    return Piece(
        configurations=tables.space.size_of(pipeline),
        feasible=feasible,
        candidates=tuple(found),
    )


def best_of(candidates: Iterable[TimedConfiguration]) -> list[TimedConfiguration]:
    """Return the best of one machine, standing by standing."""
    ordered = sorted(candidates, key=lambda one: one.order)
    return [one for standing in STANDINGS for one in _first(ordered, standing)]


def _first(ordered: Sequence[TimedConfiguration], standing: Standing) -> list[TimedConfiguration]:
    return [one for one in ordered if one.standing == standing][:NUM_BEST]


def _best(
    batch: Batch, machine: int, found: Sequence[TimedConfiguration], *, standing: Standing
) -> list[TimedConfiguration]:
    """Return what of *batch* can be among the best, *found* being the best so far."""
    mask = batch.fit & batch.standing(standing)
    so_far = [one.duration_s for one in found if one.standing == standing]
    if len(so_far) == NUM_BEST:
        mask &= batch.duration_s <= so_far[-1]
    times_s = batch.duration_s[mask]
    if not len(times_s):
        return []
    # All that are as good as the last one taken, so that ties fall by degrees alone.
    last = min(NUM_BEST, len(times_s)) - 1
    enough_s = np.partition(times_s, last)[last]
    places = np.argwhere(mask & (batch.duration_s <= enough_s))
    return [
        TimedConfiguration(
            duration_s=float(batch.duration_s[row, column]),
            standing=standing,
            configuration=batch.configuration(int(row), int(column), machine=machine),
        )
        for row, column in places
    ]
