"""The table that collectives are held to: groups of rows by size band, each with its bound."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import inf
from statistics import mean, median
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "BANDS",
    "GOALS",
    "GROUPS",
    "MIN_MACHINES",
    "RATCHET",
    "CellKey",
    "CellRow",
    "TableCell",
    "band_of",
    "cells_of",
    "group_of",
    "shipped_bounds",
]

_KIB, _MIB, _GIB = 2.0**10, 2.0**20, 2.0**30
# Upper ends, not included.
BANDS: Final[dict[str, float]] = {
    "<64 KiB": 64 * _KIB,
    "to 1 MiB": _MIB,
    "to 16 MiB": 16 * _MIB,
    "to 256 MiB": 256 * _MIB,
    "to 1 GiB": _GIB,
    "above": inf,
}
ONE_NODE: Final = "one node"
FEW_RING: Final = "2-16 nodes, all-reduce, all-gather, reduce-scatter"
FEW_OTHER: Final = "2-16 nodes, all-to-all, send-recv, broadcast"
MANY: Final = "over 16 nodes"
GROUPS: Final = (ONE_NODE, FEW_RING, FEW_OTHER, MANY)
_RING_KINDS: Final = frozenset({"all_reduce", "all_gather", "reduce_scatter"})
_FEW_NODES: Final = 16
# A cell that fewer machines were measured in is printed, not held to a bound.
MIN_MACHINES: Final = 2

CellKey = tuple[str, str]

# Median error of the bus bandwidth in percent that the model is to reach; bias under half of it,
# p90 under three times it.
GOALS: Final[dict[CellKey, float]] = {
    (group, band): goal
    for group, goals in {
        ONE_NODE: (25, 25, 15, 10, 5, 5),
        FEW_RING: (30, 30, 30, 20, 12, 8),
        FEW_OTHER: (40, 40, 30, 20, 15, 15),
        MANY: (35, 35, 35, 30, 25, 20),
    }.items()
    for band, goal in zip(BANDS, goals, strict=True)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBound:
    """What a cell may not exceed, in percent: of the median, of the bias, of p90."""

    median_pct: float
    bias_pct: float
    p90_pct: float


def _achieved(median_pct: float, bias_pct: float, p90_pct: float) -> CellBound:
    return CellBound(median_pct=median_pct, bias_pct=bias_pct, p90_pct=p90_pct)


# Achieved where a goal is not met yet: median, absolute bias and p90 in percent over the shipped
# rows (python tools/collectives_ratchet.py). They may only fall; a test says when one can.
RATCHET: Final[dict[CellKey, CellBound]] = {
    (ONE_NODE, "to 1 MiB"): _achieved(25, 14.3, 75),
    (ONE_NODE, "to 16 MiB"): _achieved(20.1, 12.5, 45),
    (MANY, "to 1 GiB"): _achieved(25, 24.9, 75),
    (MANY, "above"): _achieved(60.5, 65.8, 146.5),
}


class CellRow(Protocol):
    """What a cell needs to know of a row."""

    @property
    def num_nodes(self) -> int:
        """Nodes of the group, a rack that is one scale-up domain being one."""

    @property
    def collective(self) -> str:
        """What ran."""

    @property
    def size_bytes(self) -> float | None:
        """Message."""

    @property
    def machine(self) -> str:
        """Where."""

    @property
    def error_pct(self) -> float | None:
        """Predicted over measured bus bandwidth, less 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """The rows of one group in one size band.

    Attributes:
        bias_pct: The mean error with its sign.
        goal_pct: Of the median.
        bound_pct: What the median is held to today: the goal, or what is achieved.
        held: Whether enough machines were measured to hold it to a bound.
        goal_ok: Whether median, bias and p90 meet the goal.
        bound_ok: Whether they are within today's bound; true where the cell is not held.
        left_out_median_pct: The same median where constants were fitted without the machine of
            each row; None where nothing was refitted.
    """

    group: str
    band: str
    rows: int
    machines: int
    median_abs_error_pct: float
    bias_pct: float
    p90_abs_error_pct: float
    goal_pct: float
    bound_pct: float
    held: bool
    goal_ok: bool
    bound_ok: bool
    left_out_median_pct: float | None = None


def group_of(collective: str, num_nodes: int) -> str:
    """Return the group of a collective on *num_nodes* nodes."""
    if num_nodes == 1:
        return ONE_NODE
    if num_nodes > _FEW_NODES:
        return MANY
    return FEW_RING if collective in _RING_KINDS else FEW_OTHER


def band_of(size_bytes: float) -> str:
    """Return the size band of a message."""
    return next(name for name, end in BANDS.items() if size_bytes < end)


def goal_of(key: CellKey) -> CellBound:
    """Return the goal of a cell: bias half of the median's, p90 three times it."""
    goal = GOALS[key]
    return CellBound(median_pct=goal, bias_pct=goal / 2, p90_pct=3 * goal)


def shipped_bounds() -> dict[CellKey, CellBound]:
    """Return what each cell is held to over the shipped rows: the goal or what was achieved."""
    return {key: RATCHET.get(key) or goal_of(key) for key in GOALS}


def cells_of(
    rows: Sequence[CellRow],
    *,
    bounds: Mapping[CellKey, CellBound],
    min_machines: int,
    left_out: Sequence[CellRow] = (),
    key_of: Callable[[CellRow], str] | None = None,
) -> tuple[TableCell, ...]:
    """Return the cells that have rows, in the order of the table.

    Args:
        rows: Judged rows; those without an error or a size are left out.
        bounds: What each cell is held to.
        min_machines: How many machines a cell needs to be held.
        left_out: The same rows predicted by constants that do not know their machine.
        key_of: Splits a group further, by collective or technology; such cells are held to the
            bound of their group.
    """
    found = _by_cell(rows, key_of)
    unseen = _by_cell(left_out, key_of)
    ordered = sorted(
        found, key=lambda key: (GROUPS.index(key[0]), key[2], list(BANDS).index(key[1]))
    )
    return tuple(
        _cell(key, found[key], bounds[key[:2]], min_machines, unseen.get(key, ()))
        for key in ordered
    )


def _by_cell(
    rows: Iterable[CellRow], key_of: Callable[[CellRow], str] | None
) -> dict[tuple[str, str, str], list[CellRow]]:
    found: defaultdict[tuple[str, str, str], list[CellRow]] = defaultdict(list)
    for row in rows:
        if row.error_pct is not None and row.size_bytes is not None:
            part = key_of(row) if key_of else ""
            group = group_of(row.collective, row.num_nodes)
            found[group, band_of(row.size_bytes), part].append(row)
    return found


def _cell(
    key: tuple[str, str, str],
    rows: Sequence[CellRow],
    bound: CellBound,
    min_machines: int,
    unseen: Sequence[CellRow],
) -> TableCell:
    group, band, part = key
    errors = [row.error_pct for row in rows if row.error_pct is not None]
    apart = [abs(row.error_pct) for row in unseen if row.error_pct is not None]
    sizes = sorted(map(abs, errors))
    got = CellBound(
        median_pct=median(sizes), bias_pct=abs(mean(errors)), p90_pct=quantile(sizes, 0.9)
    )
    held = len({row.machine for row in rows}) >= min_machines
    return TableCell(
        group=f"{group}: {part}" if part else group,
        band=band,
        rows=len(rows),
        machines=len({row.machine for row in rows}),
        median_abs_error_pct=got.median_pct,
        bias_pct=mean(errors),
        p90_abs_error_pct=got.p90_pct,
        goal_pct=GOALS[group, band],
        bound_pct=bound.median_pct,
        held=held,
        goal_ok=_within(got, goal_of((group, band))),
        bound_ok=not held or _within(got, bound),
        left_out_median_pct=median(apart) if apart else None,
    )


def _within(got: CellBound, bound: CellBound) -> bool:
    return (
        got.median_pct <= bound.median_pct
        and got.bias_pct <= bound.bias_pct
        and got.p90_pct <= bound.p90_pct
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest of sorted values that at least *share* of them do not exceed."""
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]
