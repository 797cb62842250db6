"""How many measured steps the intervals hold that were taken without them.

A source's rows share what its machines and its authors do. Each whole source is therefore left
out in turn, from the rows near by and from the widths alike, and its rows are judged by the rest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from netloom.validated.intervals import SHARE, ErrorRows, Widths
from netloom.validated.steps import judged_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.validated.steps import StepRow

__all__ = ["Coverage", "SourceCoverage", "interval_coverage", "interval_widths"]

Array: TypeAlias = Any

MIN_SCORES: Final = 200  # for one width: it is their 90 % quantile
MAX_WIDTHS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCoverage:
    """The rows of one source, judged without it.

    Attributes:
        held: Rows whose measured time lies in the interval.
        width_pct: High end over low end, less 1, in the median.
    """

    source: str
    rows: int
    held: int
    width_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What intervals hold of rows that they were taken without.

    Attributes:
        share: Of all rows, their whole source left out.
        row_share: The same, with each row left out by itself.
        bounds: Each row's interval without its source: of measured over predicted, by row.
    """

    rows: int
    share: float
    row_share: float
    by_source: tuple[SourceCoverage, ...]
    bounds: Mapping[str, tuple[float, float]]


def interval_coverage(rows: Sequence[StepRow] | None = None) -> Coverage:
    """Return what share of *rows* the intervals hold; of the shipped ones by default."""
    trial = _Trial.of(judged_rows() if rows is None else rows)
    held = np.zeros(len(trial.sources), dtype=bool)
    by_source = []
    bounds: dict[str, tuple[float, float]] = {}
    for source, count in sorted(Counter(trial.sources.tolist()).items()):
        mine = trial.sources == source
        low, high = trial.bounds(mine, without=mine)
        error = trial.rows.log_error[mine]
        held[mine] = (low <= error) & (error <= high)
        width_pct = float(100 * np.median(np.expm1(high - low)))
        found = SourceCoverage(
            source=source, rows=count, held=int(held[mine].sum()), width_pct=width_pct
        )
        by_source.append(found)
        ids = (row.row_id for row, is_mine in zip(trial.rows.rows, mine, strict=True) if is_mine)
        ends = zip(np.exp(low).tolist(), np.exp(high).tolist(), strict=True)
        bounds |= dict(zip(ids, ends, strict=True))
    return Coverage(
        rows=len(held),
        share=float(held.mean()),
        row_share=trial.row_share(),
        by_source=tuple(by_source),
        bounds=bounds,
    )


def interval_widths(rows: Sequence[StepRow] | None = None) -> dict[str, Widths]:
    """Return what ranges are widened by, by kind of layers; from the shipped rows by default."""
    trial = _Trial.of(judged_rows() if rows is None else rows)
    return trial.widths(np.zeros(len(trial.sources), dtype=bool))


@dataclass(frozen=True, slots=True)
class _Trial:
    """Rows that are left out in turn.

    Attributes:
        distances: Of each row to each.
    """

    rows: ErrorRows
    sources: Array
    layers: Array
    distances: Array

    @classmethod
    def of(cls, listed: Sequence[StepRow]) -> _Trial:
        rows = ErrorRows.of(listed)
        return cls(
            rows,
            np.array([row.source for row in listed]),
            np.array([row.point.layers for row in listed]),
            rows.distances(rows.axes, rows.exposed_share),
        )

    def _ranges(self, chosen: Array, left_out: Array) -> tuple[Array, Array, Array]:
        """Return the ranges of the *chosen* rows; *left_out* says which pairs do not count."""
        found = self.rows.errors(
            np.where(left_out, np.inf, self.distances[chosen]),
            faster=self.rows.faster[chosen],
            slower=self.rows.slower[chosen],
        )
        return found.low, found.high, found.distance

    def widths(self, without: Array) -> dict[str, Widths]:
        """Return the widths that rows need where those *without* are unknown.

        Each row is tried twice: by itself left out, and with its whole source.
        """
        own = np.eye(len(self.sources), dtype=bool)
        source = self.sources[:, None] == self.sources[None]
        found = {}
        for layers in np.unique(self.layers).tolist():
            chosen = (self.layers == layers) & ~without
            if not chosen.any():
                chosen = ~without
            tries = [self._scores(chosen, (pairs | without)[chosen]) for pairs in (own, source)]
            distance, score = (np.concatenate(one) for one in zip(*tries, strict=True))
            found[layers] = _widths(distance, score)
        return found

    def _scores(self, chosen: Array, left_out: Array) -> tuple[Array, Array]:
        """Return how far each row's near rows are, and by how much their range misses it."""
        low, high, distance = self._ranges(chosen, left_out)
        error = self.rows.log_error[chosen]
        return distance, np.maximum(low - error, error - high)

    def bounds(self, chosen: Array, *, without: Array) -> tuple[Array, Array]:
        """Return the intervals of the *chosen* rows where those *without* are unknown."""
        return self._widened(chosen, without[None], self.widths(without))

    def _widened(
        self, chosen: Array, left_out: Array, widths: dict[str, Widths]
    ) -> tuple[Array, Array]:
        low, high, distance = self._ranges(chosen, left_out)
        layers = self.layers[chosen]
        pairs = zip(layers.tolist(), distance.tolist(), strict=True)
        # Farther than any row that was tried: the last width, the widest there is.
        found = [(widths[kind].at(away), widths[kind].widen[-1]) for kind, away in pairs]
        widen = np.array([last if here is None else here for here, last in found])
        return low - widen, high + widen

    def row_share(self) -> float:
        """Return the share of rows held where only they themselves are unknown."""
        none = np.zeros(len(self.sources), dtype=bool)
        own = np.eye(len(self.sources), dtype=bool)
        low, high = self._widened(~none, own, self.widths(none))
        error = self.rows.log_error
        return float(((low <= error) & (error <= high)).mean())


def _widths(distance: Array, score: Array) -> Widths:
    """Return the 90 % quantiles of the scores, by distance, ascending."""
    order = np.argsort(distance, kind="stable")
    count = max(1, min(MAX_WIDTHS, len(order) // MIN_SCORES))
    parts = np.array_split(order, count)
    needed = [max(float(np.quantile(score[part], SHARE)), 0.0) for part in parts]
    return Widths(
        tuple(float(distance[part].max()) for part in parts),
        tuple(np.maximum.accumulate(needed).tolist()),
    )
