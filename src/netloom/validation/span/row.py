"""One check of the suite."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = ["SpanRow", "SpanRowKind", "exact", "inside", "shown", "within"]

SpanRowKind = Literal["closed", "step", "property", "sim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """A value that is known, and what netloom says.

    Attributes:
        row_id: ``W1`` to ``W33``, and what of it where it states several values.
        kind: ``closed`` formula, ``step`` model, ``property``, or ``sim`` of the packet engine.
        expected: The value, or the lower end of a band.
        expected_to: The upper end of a band; None for a value.
        tolerance: Relative, of a value; 0 for exact ones.
        ok: Whether it is met; None where it was not run.
        tag: How far *expected* can be trusted: S, S2, R, D or M, as docs/models/span.md says.
        gap: Why a row that is not met is known to be so; empty where it counts.
        reason: Why it was not run, or what was assumed.
    """

    row_id: str
    what: str
    kind: SpanRowKind
    expected: float | None
    expected_to: float | None = None
    predicted: float | None = None
    unit: str = ""
    tolerance: float | None = None
    ok: bool | None = None
    tag: str
    gap: str = ""
    reason: str = ""

    @property
    def error_pct(self) -> float | None:
        """Predicted over expected, less 1; None of bands and of what was not run."""
        if self.predicted is None or not self.expected or self.expected_to is not None:
            return None
        return 100 * (self.predicted / self.expected - 1)


def within(  # noqa: PLR0913  (the columns of the table)
    row_id: str,
    what: str,
    expected: float,
    predicted: float,
    *,
    tolerance: float,
    tag: str,
    unit: str = "",
    kind: SpanRowKind = "closed",
    gap: str = "",
    reason: str = "",
) -> SpanRow:
    """Return a row whose value must be met to a relative *tolerance*."""
    near = math.isclose(predicted, expected, rel_tol=tolerance, abs_tol=0.0)
    near = near or abs(predicted - expected) <= tolerance * abs(expected) * (1 + 1e-9)
    return SpanRow(
        row_id=row_id,
        what=what,
        kind=kind,
        expected=expected,
        predicted=predicted,
        unit=unit,
        tolerance=tolerance,
        ok=near,
        tag=tag,
        gap=gap,
        reason=reason,
    )


def exact(  # noqa: PLR0913  (the columns of the table)
    row_id: str,
    what: str,
    expected: float,
    predicted: float,
    *,
    tag: str,
    unit: str = "",
    kind: SpanRowKind = "closed",
) -> SpanRow:
    """Return a row whose value must be met but for rounding."""
    return SpanRow(
        row_id=row_id,
        what=what,
        kind=kind,
        expected=expected,
        predicted=predicted,
        unit=unit,
        tolerance=0.0,
        ok=math.isclose(predicted, expected, rel_tol=1e-9, abs_tol=1e-12),
        tag=tag,
    )


def inside(  # noqa: PLR0913  (the columns of the table)
    row_id: str,
    what: str,
    band: tuple[float, float],
    predicted: float,
    *,
    tag: str,
    unit: str = "",
    kind: SpanRowKind = "step",
    gap: str = "",
    reason: str = "",
) -> SpanRow:
    """Return a row whose value must lie in *band*."""
    return SpanRow(
        row_id=row_id,
        what=what,
        kind=kind,
        expected=band[0],
        expected_to=band[1],
        predicted=predicted,
        unit=unit,
        tolerance=0.0,
        ok=band[0] <= predicted <= band[1],
        tag=tag,
        gap=gap,
        reason=reason,
    )


def shown(
    row_id: str, what: str, predicted: float, *, tag: str, unit: str = "", reason: str = ""
) -> SpanRow:
    """Return a row that is simulated, and stands beside one that is judged."""
    return SpanRow(
        row_id=row_id,
        what=what,
        kind="sim",
        expected=None,
        predicted=predicted,
        unit=unit,
        tag=tag,
        reason=reason,
    )
