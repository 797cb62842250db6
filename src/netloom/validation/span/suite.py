"""All rows together, and whether those that count are met."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.results.progress import counter
from netloom.validation.span.closed import closed_rows
from netloom.validation.span.distance import distance_parts
from netloom.validation.span.edge_rows import edge_rows
from netloom.validation.span.steps import step_rows
from netloom.validation.span.timed import timed_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.validation.span.row import SpanRow

__all__ = ["NUM_SEEDS", "SpanSuite", "suite_of", "validate_span"]

NUM_SEEDS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSuite:
    """What the suite found.

    Attributes:
        inside: Rows that were run.
        met: Of them, those within their tolerance or band.
        known_gaps: Rows that are not met, for a reason that is stated.
        not_run: Rows that need what is not there.
        bound_ok: Whether every row that was run is met, or a known gap.
    """

    suite: str
    rows: int
    inside: int
    met: int
    known_gaps: int
    not_run: int
    median_abs_error_pct: float | None
    mean_abs_error_pct: float | None
    p90_abs_error_pct: float | None
    bias_pct: float | None
    bound_ok: bool
    per_row: tuple[SpanRow, ...]


def validate_span(
    catalog: Catalog, *, num_seeds: int = NUM_SEEDS, on_progress: OnProgress | None = None
) -> SpanSuite:
    """Return every row.

    Args:
        catalog: The parts.
        num_seeds: Runs that rows with random losses are means of; some take ten times as many.
        on_progress: Told how much is done, and how much there is.
    """
    parts: tuple[Callable[[], Iterable[SpanRow]], ...] = (
        closed_rows,
        partial(step_rows, catalog),
        edge_rows,
        *distance_parts(catalog, num_seeds=num_seeds),
        timed_rows,
    )
    advance = counter(on_progress, len(parts))
    rows: tuple[SpanRow, ...] = ()
    for part in parts:
        rows += tuple(part())
        advance()
    return suite_of("span", rows)


def suite_of(name: str, rows: tuple[SpanRow, ...]) -> SpanSuite:
    """Return *rows* as a suite, with errors summed up and what counts judged."""
    judged = [row for row in rows if row.ok is not None]
    errors = [row.error_pct for row in judged if row.error_pct is not None]
    sizes = sorted(abs(error) for error in errors)
    gaps = sum(not row.ok and bool(row.gap) for row in judged)
    met = sum(bool(row.ok) for row in judged)
    return SpanSuite(
        suite=name,
        rows=len(rows),
        inside=len(judged),
        met=met,
        known_gaps=gaps,
        not_run=sum(row.predicted is None for row in rows),
        median_abs_error_pct=statistics.median(sizes) if sizes else None,
        mean_abs_error_pct=statistics.fmean(sizes) if sizes else None,
        p90_abs_error_pct=sizes[int(0.9 * (len(sizes) - 1))] if sizes else None,
        bias_pct=statistics.fmean(errors) if errors else None,
        bound_ok=met + gaps == len(judged),
        per_row=rows,
    )
