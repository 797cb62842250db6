"""All rows of tuning together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.results.progress import counter
from netloom.validation.span.suite import suite_of
from netloom.validation.tune.model_rows import model_rows
from netloom.validation.tune.packet_rows import packet_rows

if TYPE_CHECKING:
    from netloom.results.progress import OnProgress
    from netloom.validation.span.row import SpanRow
    from netloom.validation.span.suite import SpanSuite

__all__ = ["validate_tune"]

NUM_ROWS = 19


def validate_tune(*, long: bool = False, on_progress: OnProgress | None = None) -> SpanSuite:
    """Return T1 to T13; *long* runs more seeds and trials of those that simulate."""
    advance = counter(on_progress, NUM_ROWS)
    rows: list[SpanRow] = []
    for row in (*model_rows(), *packet_rows(long=long)):
        rows.append(row)
        advance()
    return suite_of("tune", tuple(rows))
