"""Between which times a step is expected, by the errors of the measured steps nearest to it.

No distribution is assumed. The range is that of the 5 and 95 % quantiles of the errors of the
nearest rows, nearer ones counting more; the exposed communication adds what its collectives may be
off by beyond those of the rows; and both ends are widened by what left-out rows at that distance
needed for nine in ten of them to be held (conformalised quantiles, Romano et al. 2019,
arXiv:1905.03222). ``data/intervals.csv`` has these widths, by distance: left out were each row by
itself and each whole source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from netloom.validated.axes import AXES
from netloom.validated.collective_errors import collective_error
from netloom.validated.rows import rows_of
from netloom.validated.steps import judged_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.validated.axes import StepPoint
    from netloom.validated.collectives import CollectivePoint
    from netloom.validated.steps import StepRow

__all__ = [
    "SHARE",
    "ErrorRows",
    "ExposedWait",
    "StepBasis",
    "StepInterval",
    "Widths",
    "exposed_range",
    "network_range",
    "step_interval",
]

Array: TypeAlias = Any

SHARE: Final = 0.9  # of the measured rows that an interval is to hold
NEAREST: Final = 30  # rows whose errors make a range
REACH: Final = 2.0  # distance at which a row counts 1/e of the nearest
MAX_DOUBLINGS: Final = 6.0
EXPOSED_WEIGHT: Final = 5.0  # of the share of exposed communication in the distance
_DIGITS: Final = 9
_TAIL: Final = (1 - SHARE) / 2
_LEAST: Final = 0.05  # no range reaches below this share of the step


class ExposedWait(NamedTuple):
    """Exposed communication that stands on one collective: how long, and which."""

    time_s: float
    collective: CollectivePoint


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBasis:
    """What the error of a step depends on."""

    point: StepPoint
    duration_s: float
    waits: tuple[ExposedWait, ...]

    @property
    def exposed_s(self) -> float:
        """All exposed communication."""
        return sum(wait.time_s for wait in self.waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInterval:
    """Between which times a step is expected.

    Attributes:
        share: Of the measured rows that such an interval holds.
        distance: To the rows that it is taken from; the axes' weights make it.
        widened: What both ends were moved by, as a share of the step.
        nearest: The nearest row.
    """

    low_s: float
    high_s: float
    share: float
    distance: float
    widened: float
    nearest: StepRow

    def to_json(self) -> dict[str, float]:
        """Return the stable keys that docs/json.md documents."""
        return {"low": float(self.low_s), "high": float(self.high_s), "share": self.share}

    def overlaps(self, other: StepInterval) -> bool:
        """Return whether some time lies in both."""
        return self.low_s <= other.high_s and other.low_s <= self.high_s


def exposed_range(basis: StepBasis) -> tuple[float, float]:
    """Return between which times the exposed communication is expected, by its collectives."""
    return _range_s(basis.waits)


def network_range(basis: StepBasis) -> tuple[float, float]:
    """Return the same of what is exposed between nodes, which differs between networks."""
    return _range_s(wait for wait in basis.waits if wait.collective.num_nodes > 1)


def _range_s(waits: Iterable[ExposedWait]) -> tuple[float, float]:
    ranges = [(wait.time_s, collective_error(wait.collective)) for wait in waits]
    return (
        sum(time_s * min(error.low, 1.0) for time_s, error in ranges),
        sum(time_s * max(error.high, 1.0) for time_s, error in ranges),
    )


@dataclass(frozen=True, slots=True)
class Errors:
    """The range that near rows give, before it is widened; a row each, as logarithms."""

    low: Array
    high: Array
    distance: Array
    nearest: Array


@dataclass(frozen=True, slots=True)
class ErrorRows:
    """Rows with their errors, as arrays.

    Attributes:
        log_error: Of measured over predicted.
        exposed_share: Of the step.
        faster: What the exposed communication may be over by, as a share of the step.
        slower: What it may be under by.
    """

    rows: tuple[StepRow, ...]
    axes: tuple[Array, ...]
    log_error: Array
    exposed_share: Array
    faster: Array
    slower: Array

    @classmethod
    def of(cls, rows: Sequence[StepRow]) -> ErrorRows:
        """Return *rows*, all of which have an error."""
        return cls(
            rows=tuple(rows),
            axes=_axes([row.point for row in rows]),
            log_error=np.array([-math.log1p((row.error_pct or 0.0) / 100) for row in rows]),
            exposed_share=np.array([row.exposed_share or 0.0 for row in rows]),
            faster=np.array([row.exposed_faster or 0.0 for row in rows]),
            slower=np.array([row.exposed_slower or 0.0 for row in rows]),
        )

    def distances(self, axes: Sequence[Array], exposed_share: Array) -> Array:
        """Return how far each point, a line, is from each row, a column."""
        total = EXPOSED_WEIGHT * np.abs(exposed_share[:, None] - self.exposed_share)
        for axis, here, there in zip(AXES, axes, self.axes, strict=True):
            if here.dtype.kind == "U":
                total += axis.weight * (here[:, None] != there)
            else:
                total += axis.weight * np.minimum(np.abs(here[:, None] - there), MAX_DOUBLINGS)
        return total

    def errors(self, distances: Array, *, faster: Array, slower: Array) -> Errors:
        """Return the range of the rows near each point; a row at infinite distance is none."""
        count = min(NEAREST, distances.shape[1])
        # Of rows as far the first, by the same digits on every processor.
        near = np.argsort(np.round(distances, _DIGITS), axis=1, kind="stable")[:, :count]
        away = np.take_along_axis(distances, near, axis=1)
        least = away.min(axis=1, keepdims=True)
        weights = np.exp(-np.minimum(away - least, 700.0) / REACH)
        errors = self.log_error[near]
        total = weights.sum(axis=1)
        # The rows' own errors hold those of their own exposed communication.
        more_faster = np.maximum(faster - (weights * self.faster[near]).sum(axis=1) / total, 0.0)
        more_slower = np.maximum(slower - (weights * self.slower[near]).sum(axis=1) / total, 0.0)
        low = np.exp(_quantile(errors, weights, _TAIL)) - more_faster
        high = np.exp(_quantile(errors, weights, 1 - _TAIL)) + more_slower
        known = np.where(np.isfinite(away), away, 0.0)
        return Errors(
            low=np.log(np.clip(low, _LEAST, 1.0)),  # the prediction itself is always held
            high=np.log(np.maximum(high, 1.0)),
            distance=(weights * known).sum(axis=1) / total,
            nearest=near[:, 0],
        )


def _axes(points: Sequence[StepPoint]) -> tuple[Array, ...]:
    """Return each axis as an array: names, or the logarithm to base 2."""
    found = []
    for axis in AXES:
        values = [axis.alike(getattr(point, axis.name)) for point in points]
        is_text = isinstance(values[0], str)
        found.append(np.array(values) if is_text else np.log2(np.array(values, dtype=float)))
    return tuple(found)


def _quantile(values: Array, weights: Array, share: float) -> Array:
    """Return the weighted quantile of each line."""
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    below = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    index = (below < share * below[:, -1:] - 1e-12).sum(axis=1)
    index = np.minimum(index, values.shape[1] - 1)
    return np.take_along_axis(ordered, index[:, None], axis=1)[:, 0]


class Widths(NamedTuple):
    """What a range is widened by at either end, up to each distance; both ascending."""

    up_to: tuple[float, ...]
    widen: tuple[float, ...]

    def at(self, distance: float) -> float | None:
        """Return the width at *distance*; None beyond all that was tried."""
        found = int(np.searchsorted(self.up_to, distance))
        return self.widen[found] if found < len(self.widen) else None


@cache
def _shipped() -> tuple[ErrorRows, dict[str, Widths]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows_of("intervals.csv"):
        found.setdefault(row["layers"], []).append((float(row["up_to"]), float(row["widen"])))
    widths = {
        layers: Widths(tuple(up_to for up_to, _ in some), tuple(widen for _, widen in some))
        for layers, some in found.items()
    }
    return ErrorRows.of(judged_rows()), widths


def step_interval(basis: StepBasis) -> StepInterval | None:
    """Return between which times the step is expected; None where no measured row is near enough.

    How near is enough is what left-out rows were at most away.
    """
    rows, widths = _shipped()
    low_s, high_s = exposed_range(basis)
    exposed_s, duration_s = basis.exposed_s, basis.duration_s
    distances = rows.distances(_axes([basis.point]), np.array([exposed_s / duration_s]))
    found = rows.errors(
        distances,
        faster=np.array([(exposed_s - low_s) / duration_s]),
        slower=np.array([(high_s - exposed_s) / duration_s]),
    )
    distance = float(found.distance[0])
    known = widths.get(basis.point.layers)
    widened = known.at(distance) if known else None
    if widened is None:
        return None
    return StepInterval(
        low_s=duration_s * math.exp(found.low[0] - widened),
        high_s=duration_s * math.exp(found.high[0] + widened),
        share=SHARE,
        distance=distance,
        widened=widened,
        nearest=rows.rows[int(found.nearest[0])],
    )
