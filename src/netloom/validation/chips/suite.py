"""All rows together, and whether those that count are met."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.results.progress import counter
from netloom.validation.chips.closed import closed_chip_rows
from netloom.validation.chips.published import published_rows
from netloom.validation.chips.reference import reference_rows

if TYPE_CHECKING:
    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.validation.chips.row import ChipRow

__all__ = ["LEAST_COUNTED", "ChipSuite", "chip_suite_of", "validate_chips"]

LEAST_COUNTED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipSuite:
    """What the suite found.

    Attributes:
        inside: Rows that count: run, and read in a source.
        met: Of them, those whose sign and size are met.
        direction_met: Of those that state a sign, how many have it.
        directions: Those that state one.
        known_gaps: Rows that are not met, for a reason that is stated.
        recalled: Rows that were run and do not count.
        not_run: Rows that need what is not there.
        bound_ok: Whether every row that counts is met or a known gap, and every sign is right but
            in known gaps.
    """

    suite: str
    rows: int
    inside: int
    met: int
    directions: int
    direction_met: int
    known_gaps: int
    recalled: int
    not_run: int
    median_abs_error_pct: float | None
    mean_abs_error_pct: float | None
    p90_abs_error_pct: float | None
    bias_pct: float | None
    bound_ok: bool
    per_row: tuple[ChipRow, ...]


def validate_chips(catalog: Catalog, *, on_progress: OnProgress | None = None) -> ChipSuite:
    """Return every row; the packet engine runs for half a minute of a core."""
    advance = counter(on_progress, 3)
    rows: list[ChipRow] = []
    rows += closed_chip_rows(catalog)
    advance()
    rows += published_rows()
    advance()
    rows += reference_rows(catalog)
    advance()
    return chip_suite_of(rows)


def chip_suite_of(rows: list[ChipRow]) -> ChipSuite:
    """Return the sums over *rows*."""
    counted = [row for row in rows if row.counted]
    errors = [row.error_pct for row in counted if row.error_pct is not None]
    sizes = sorted(abs(error) for error in errors)
    met = sum(bool(row.ok) for row in counted)
    gaps = sum(not row.ok and bool(row.gap) for row in counted)
    signed = [row for row in counted if row.direction_ok is not None]
    return ChipSuite(
        suite="chips",
        rows=len(rows),
        inside=len(counted),
        met=met,
        directions=len(signed),
        direction_met=sum(bool(row.direction_ok) for row in signed),
        known_gaps=gaps,
        recalled=sum(row.predicted is not None and not row.counted for row in rows),
        not_run=sum(row.predicted is None for row in rows),
        median_abs_error_pct=statistics.median(sizes) if sizes else None,
        mean_abs_error_pct=statistics.fmean(sizes) if sizes else None,
        p90_abs_error_pct=sizes[int(0.9 * (len(sizes) - 1))] if sizes else None,
        bias_pct=statistics.fmean(errors) if errors else None,
        bound_ok=met + gaps == len(counted),
        per_row=tuple(rows),
    )
