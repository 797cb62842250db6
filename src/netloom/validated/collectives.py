"""Which collectives were compared with measurements, and how near a prediction is to them.

A group is the rows of one machine: one collective, one size band, and a number of nodes. What is
near a group is the same collective and band on about as many nodes; between nodes of the same
family of technologies, within one node of the same scale-up network. A prediction is inside where
the groups near it are of two machines or more, or of its very own kind of machine, and all of
them together are within the bound of their size band.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.validated.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "CollectiveGroup",
    "CollectivePoint",
    "collective_groups",
    "group_doubt",
    "in_band",
    "judging_groups",
    "near_groups",
    "nearest_groups",
]

MIN_ROWS: Final = 3
MIN_MACHINES: Final = 2
MAX_FAR_SHARE: Final = 0.05  # of the rows near by, over 50 % off
MAX_BOUNDS: Final = 3.0  # times the bound that a single machine's median may reach
NODES_MARGIN: Final = 2.0  # times more nodes than measured, or fewer, are near
_RACKS: Final = ("nvl72", "nvl576")  # a node is a rack
# Machines of which all of one name are alike: a cloud's shapes and single supercomputers.
_KINDS: Final = ("aws-", "gcp-", "azure-", "oci-", "polaris", "perlmutter", "frontier")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveGroup:
    """Measured rows of one collective and size band on one machine.

    Attributes:
        machine: Where, all library versions together.
        family: Of the technology between the nodes; empty within one node.
        min_bytes: Lower end of the size band; ``max_bytes``, its upper end, is not in it.
        median_error_pct: Of the bus bandwidth, without sign.
        quantiles_pct: Of the errors with their sign, each for a fifth of the rows.
        far_rows: Rows over 50 % off.
        bound_pct: What the median of such rows is held to.
    """

    collective: str
    machine: str
    node: str
    scale_up: str
    technology: str
    family: str
    min_nodes: int
    max_nodes: int
    min_bytes: float
    max_bytes: float
    rows: int
    median_error_pct: float
    quantiles_pct: tuple[float, ...]
    far_rows: int
    bound_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePoint:
    """What is asked for: a collective of a size on nodes of a kind, and what joins them."""

    collective: str
    node: str
    scale_up: str
    family: str
    num_nodes: int
    size_bytes: float


@cache
def collective_groups() -> tuple[CollectiveGroup, ...]:
    """Return every group of judged rows."""
    return tuple(
        CollectiveGroup(
            collective=row["collective"],
            machine=row["machine"],
            node=row["node"],
            scale_up=row["scale_up"],
            technology=row["technology"],
            family=row["family"],
            min_nodes=int(row["min_nodes"]),
            max_nodes=int(row["max_nodes"]),
            min_bytes=float(row["min_bytes"]),
            max_bytes=float(row["max_bytes"]),
            rows=int(row["rows"]),
            median_error_pct=float(row["median_error_pct"]),
            quantiles_pct=tuple(map(float, row.get("quantiles_pct", "0").split())),
            far_rows=int(row["far_rows"]),
            bound_pct=float(row["bound_pct"]),
        )
        for row in rows_of("collectives.csv")
    )


def group_doubt(point: CollectivePoint, groups: Sequence[CollectiveGroup] | None = None) -> str:
    """Return why *point* is outside what was measured, and what is nearest; empty when inside.

    Args:
        point: What is asked for.
        groups: What was measured; the shipped table by default.
    """
    if groups is None:
        return _shipped_doubt(in_band(point))
    return _doubt(point, groups)


def in_band(point: CollectivePoint) -> CollectivePoint:
    """Return *point* at the lower end of its size band, for which the answer is the same."""
    lows = sorted({one.min_bytes for one in collective_groups()})
    low = max((at for at in lows if at <= point.size_bytes), default=0.0)
    return CollectivePoint(
        collective=point.collective,
        node=point.node,
        scale_up=point.scale_up,
        family=point.family,
        num_nodes=point.num_nodes,
        size_bytes=low,
    )


@cache
def _shipped_doubt(point: CollectivePoint) -> str:
    return _doubt(point, collective_groups())


def _doubt(point: CollectivePoint, groups: Sequence[CollectiveGroup]) -> str:
    near = judging_groups(point, groups)
    is_own = bool(near) and all(_is_own_kind(one, point) for one in near)
    why = _shortfall(near, is_own=is_own)
    return f"{_said(point)} {why}{_nearest(point, groups, near)}." if why else ""


def judging_groups(
    point: CollectivePoint, groups: Iterable[CollectiveGroup]
) -> list[CollectiveGroup]:
    """Return the groups that *point* is judged by.

    They are those of its own kind of machine where these have rows enough, else all that are near.
    """
    near = near_groups(point, groups)
    own = [one for one in near if _is_own_kind(one, point)]
    return own if sum(one.rows for one in own) >= MIN_ROWS else near


def near_groups(point: CollectivePoint, groups: Iterable[CollectiveGroup]) -> list[CollectiveGroup]:
    """Return the groups that *point* is near."""
    return [one for one in groups if _is_near(one, point)]


def _is_near(one: CollectiveGroup, point: CollectivePoint) -> bool:
    if one.collective != point.collective or not one.min_bytes <= point.size_bytes < one.max_bytes:
        return False
    if point.num_nodes == 1:
        return one.max_nodes == 1 and one.scale_up == point.scale_up
    measured = one.min_nodes / NODES_MARGIN <= point.num_nodes <= one.max_nodes * NODES_MARGIN
    alike = (one.scale_up in _RACKS) == (point.scale_up in _RACKS)
    return one.min_nodes > 1 and measured and alike and one.family == point.family


def _is_own_kind(one: CollectiveGroup, point: CollectivePoint) -> bool:
    return one.node == point.node and point.node.startswith(_KINDS)


def _shortfall(near: Sequence[CollectiveGroup], *, is_own: bool) -> str:
    """Return what the groups near a point lack; empty when they are enough and within bound."""
    rows = sum(one.rows for one in near)
    if not rows:
        return "was not compared with a measurement"
    machines = {one.machine for one in near}
    if len(machines) < MIN_MACHINES and not is_own:
        return "was measured on one machine only"
    if rows < MIN_ROWS:
        return f"was measured in {rows} rows only"
    return _over_bound(near) or _far_off(near)


def _over_bound(near: Sequence[CollectiveGroup]) -> str:
    """Return what is over the bound: all rows together, or one machine by far."""
    each = [one.median_error_pct for one in near for _ in range(one.rows)]
    bound_pct = near[0].bound_pct
    if median(each) > bound_pct:
        return (
            f"is {median(each):.0f} % off where it was measured, over its bound of {bound_pct:g} %"
        )
    worst = max(near, key=lambda one: one.median_error_pct)
    if worst.median_error_pct > MAX_BOUNDS * bound_pct:
        return f"is {worst.median_error_pct:.0f} % off on {worst.machine}"
    return ""


def _far_off(near: Sequence[CollectiveGroup]) -> str:
    rows, far = sum(one.rows for one in near), sum(one.far_rows for one in near)
    return f"is over 50 % off in {far} of {rows} rows" if far > MAX_FAR_SHARE * rows else ""


def _said(point: CollectivePoint) -> str:
    where = "within a node" if point.num_nodes == 1 else f"between {point.num_nodes} nodes"
    over = f" over {point.family}" if point.num_nodes > 1 else f" with {point.scale_up}"
    return f"{point.collective} of {_band(point)} {where}{over}"


def _band(point: CollectivePoint) -> str:
    bands = {(one.min_bytes, one.max_bytes) for one in collective_groups()}
    found = next(((low, high) for low, high in bands if low <= point.size_bytes < high), None)
    return _range(*found) if found else f"{point.size_bytes:.3g} bytes"


def _range(low: float, high: float) -> str:
    if low == 0:
        return f"under {_size(high)}"
    return f"{_size(low)} and more" if high == float("inf") else f"{_size(low)} to {_size(high)}"


def _size(value: float) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:g} {unit}"
    return f"{value:g} B"


def _nearest(
    point: CollectivePoint, groups: Sequence[CollectiveGroup], near: Sequence[CollectiveGroup]
) -> str:
    """Return the nearest groups that are measured, where none are near."""
    if near or not groups:
        return ""
    nearest = nearest_groups(point, groups)
    found = nearest[0]
    error = median(one.median_error_pct for one in nearest)
    nodes = "one node" if found.max_nodes == 1 else f"{found.min_nodes} to {found.max_nodes} nodes"
    if 1 < found.min_nodes == found.max_nodes:
        nodes = f"{found.max_nodes} nodes"
    return (
        f"; nearest is {found.collective} of {_range(found.min_bytes, found.max_bytes)} on {nodes} "
        f"of {found.machine}, {error:.0f} % off"
    )


def nearest_groups(
    point: CollectivePoint, groups: Sequence[CollectiveGroup]
) -> list[CollectiveGroup]:
    """Return the groups that *point* is nearest to, near or not; none only where there are none."""
    far = [_distance(one, point) for one in groups]
    least = min(far, default=())
    return [one for one, distance in zip(groups, far, strict=True) if distance == least]


def _distance(one: CollectiveGroup, point: CollectivePoint) -> tuple[float, ...]:
    """Return how far a group is: another collective is farther than another network or size.

    Racks are alike only to racks, as for what is near; a size inside a group's band is not away.
    """
    is_single = point.num_nodes == 1
    away = max(one.min_nodes / point.num_nodes, point.num_nodes / one.max_nodes, 1.0)
    same = one.scale_up == point.scale_up if is_single else one.family == point.family
    is_rack = one.scale_up in _RACKS
    size = max(point.size_bytes, 1.0)
    return (
        one.collective != point.collective,
        (one.max_nodes == 1) != is_single,
        not same,
        is_rack != (point.scale_up in _RACKS),
        not one.min_bytes <= point.size_bytes < one.max_bytes,
        max(one.min_bytes / size, size / max(one.max_bytes, 1.0), 1.0),
        away,
    )
