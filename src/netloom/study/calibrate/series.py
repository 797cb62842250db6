"""Which measured rows tell of what: repeats, series of sizes, and those that have settled."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from netloom.engines.base import bus_factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.calibrate.fitting import TimedCollective
    from netloom.workload.collective import CollectiveKind, Group

__all__ = [
    "LARGE_BYTES",
    "LARGE_MESSAGE_BYTES",
    "MIN_ROWS",
    "SMALL_BYTES",
    "has_some_partners",
    "is_long_enough",
    "is_settled",
    "largest_of_each",
    "size_of",
    "without_repeats",
]

# A series reaches the rate of its NICs when the last doubling of the size adds less than this.
_SETTLED: Final = 1.08
LARGE_BYTES: Final = 2.0**28  # the least that tells of a rate between nodes
LARGE_MESSAGE_BYTES: Final = 2.0**26  # the same of a single message
SMALL_BYTES: Final = 2.0**12
MIN_ROWS: Final = 3  # that decide a time
_PAIR: Final = 2
_MIN_PARTNERS: Final = 8  # in other nodes


def without_repeats(rows: Sequence[TimedCollective]) -> tuple[TimedCollective, ...]:
    """Return one row for each collective, group and size: the median time of its repeats."""
    alike: defaultdict[Any, list[TimedCollective]] = defaultdict(list)
    for row in rows:
        alike[row.machine, row.collective].append(row)
    return tuple(
        replace(some[0], time_s=median(one.time_s for one in some)) for some in alike.values()
    )


def is_long_enough(row: TimedCollective, num_nodes: int) -> bool:
    """Return whether a ring tells of those of a cluster of *num_nodes*.

    On Polaris a hop between two nodes takes a third of one in a ring of eight nodes and more, which
    differ little among themselves.
    """
    return row.collective.group.num_nodes > _PAIR or num_nodes <= _PAIR


def has_some_partners(row: TimedCollective) -> bool:
    """Return whether ranks of an all-to-all have enough partners elsewhere to tell of more."""
    group = row.collective.group
    return group.size - group.per_node >= _MIN_PARTNERS


def size_of(row: TimedCollective) -> float:
    """Return the size of its message in bytes."""
    return row.collective.size_bytes


def largest_of_each(
    rows: Sequence[TimedCollective], least_bytes: float
) -> list[tuple[TimedCollective, TimedCollective]]:
    """Return a quarter of the largest and the largest of each series that has reached its rate."""
    series: defaultdict[tuple[CollectiveKind, Group], list[TimedCollective]] = defaultdict(list)
    for row in rows:
        series[row.collective.kind, row.collective.group].append(row)
    pairs = (_large_pair(sorted(some, key=size_of)) for some in series.values())
    return [pair for pair in pairs if pair is not None and size_of(pair[1]) >= least_bytes]


def is_settled(series: Sequence[TimedCollective]) -> bool:
    """Return whether the rate of rows of one collective and group no longer rises at the end."""
    return _large_pair(sorted(series, key=size_of)) is not None


def _large_pair(
    series: Sequence[TimedCollective],
) -> tuple[TimedCollective, TimedCollective] | None:
    top = series[-1]
    half = [row for row in series if size_of(row) <= 0.6 * size_of(top)]
    quarter = [row for row in series if size_of(row) <= 0.3 * size_of(top)]
    if not quarter or _bus_rate(top) > _SETTLED * _bus_rate(half[-1]):
        return None
    return quarter[-1], top


def _bus_rate(row: TimedCollective) -> float:
    return bus_factor(row.collective) * size_of(row) / row.time_s
