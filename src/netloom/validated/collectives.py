"""Which collectives were compared with measurements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from netloom.validated.rows import rows_of

__all__ = [
    "CollectiveGroup",
    "checked_between",
    "checked_inside",
    "collective_groups",
    "max_nodes",
    "size_range_bytes",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveGroup:
    """Measured rows of one collective on one GPU architecture and number of nodes.

    Attributes:
        median_error_pct: Of the bus bandwidth, without sign.
    """

    collective: str
    architecture: str
    num_nodes: int
    rows: int
    min_bytes: float
    max_bytes: float
    median_error_pct: float


@cache
def collective_groups() -> tuple[CollectiveGroup, ...]:
    """Return every group of rows that the suite counts."""
    return tuple(
        CollectiveGroup(
            collective=row["collective"],
            architecture=row["architecture"],
            num_nodes=int(row["num_nodes"]),
            rows=int(row["rows"]),
            min_bytes=float(row["min_bytes"]),
            max_bytes=float(row["max_bytes"]),
            median_error_pct=float(row["median_error_pct"]),
        )
        for row in rows_of("collectives.csv")
    )


@cache
def checked_inside(architecture: str) -> frozenset[str]:
    """Return the collectives that were measured inside one node of *architecture*."""
    groups = collective_groups()
    return frozenset(
        one.collective
        for one in groups
        if one.num_nodes == 1 and _family(one.architecture) == _family(architecture)
    )


def _family(architecture: str) -> str:
    """Return the architecture without its number: CDNA 2 and CDNA 3 are one family."""
    return architecture.lower().partition(" ")[0]


@cache
def checked_between() -> frozenset[str]:
    """Return the collectives that were measured between nodes."""
    return frozenset(one.collective for one in collective_groups() if one.num_nodes > 1)


@cache
def max_nodes() -> int:
    """Return the largest number of nodes that was measured."""
    return max(one.num_nodes for one in collective_groups())


@cache
def size_range_bytes() -> tuple[float, float]:
    """Return the smallest and the largest collective that was measured and counted."""
    groups = collective_groups()
    return min(one.min_bytes for one in groups), max(one.max_bytes for one in groups)
