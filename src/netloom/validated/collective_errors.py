"""How far collectives were off where they were measured: the range that 9 in 10 rows lie in."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.validated.collectives import collective_groups, in_band, near_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from netloom.validated.collectives import CollectiveGroup, CollectivePoint

__all__ = ["CollectiveError", "collective_error"]

TAIL: Final = 0.05  # of the rows that lie beyond each end
MIN_ROWS: Final = 3


class CollectiveError(NamedTuple):
    """Measured over predicted duration: the range, and whether rows near by say so."""

    low: float
    high: float
    is_near: bool


def collective_error(point: CollectivePoint) -> CollectiveError:
    """Return the range of the rows near *point*.

    Where too few are near: of the same collective and size over any network and on any number of
    nodes; then of the collective; then of all, within one node or between nodes as asked.
    """
    return _error(in_band(point))


@cache
def _error(point: CollectivePoint) -> CollectiveError:
    groups = collective_groups()
    near = near_groups(point, groups)
    if sum(one.rows for one in near) >= MIN_ROWS:
        return _range(near, is_near=True)
    alike = [one for one in groups if (one.max_nodes == 1) == (point.num_nodes == 1)]
    for is_alike in _wider(point):
        found = [one for one in alike if is_alike(one)]
        if sum(one.rows for one in found) >= MIN_ROWS:
            return _range(found, is_near=False)
    return _range(groups, is_near=False)


def _wider(point: CollectivePoint) -> Iterable[Callable[[CollectiveGroup], bool]]:
    yield (
        lambda one: (
            one.collective == point.collective and one.min_bytes <= point.size_bytes < one.max_bytes
        )
    )
    yield lambda one: one.collective == point.collective
    yield lambda _: True


def _range(groups: Sequence[CollectiveGroup], *, is_near: bool) -> CollectiveError:
    """Return the range of all rows of *groups*, by their quantiles.

    The error is the bus bandwidth's: predicted over measured, which of durations is measured over
    predicted.
    """
    weighted = sorted(
        (1 + error_pct / 100, one.rows) for one in groups for error_pct in one.quantiles_pct
    )
    return CollectiveError(_quantile(weighted, TAIL), _quantile(weighted, 1 - TAIL), is_near)


def _quantile(weighted: Sequence[tuple[float, int]], share: float) -> float:
    wanted = share * sum(weight for _, weight in weighted)
    below = 0.0
    for value, weight in weighted:
        below += weight
        if below >= wanted:
            return value
    return weighted[-1][0]
