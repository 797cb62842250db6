"""One check of the suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ChipRow", "ChipRowKind", "in_band", "not_checked"]

ChipRowKind = Literal["closed", "sim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipRow:
    """A published result, and what netloom says.

    Attributes:
        row_id: A name.
        kind: ``closed`` formula, or ``sim`` of the packet engine.
        expected: What was published; None where the source states a sign alone.
        low: The least that is taken as the same; None for any.
        high: The most; None for any.
        predicted: None where it was not run.
        direction: The value that stands for no effect: *predicted* must lie on the side of it that
            was published. None where a size alone is stated.
        sign: Which side: 1 for more than *direction*, -1 for less.
        tag: How far the row can be trusted: *expected* was read in its source (S), in an account of
            it (S2) or is recalled (R); or what was run was chosen with the result in view (F).
        gap: Why a row that is not met is known to be so; empty where it counts.
        reason: What was run for it, or why it was not.
        source: Where it was read.
    """

    row_id: str
    what: str
    kind: ChipRowKind
    expected: float | None
    low: float | None
    high: float | None
    predicted: float | None = None
    direction: float | None = None
    sign: int = 1
    unit: str = ""
    tag: str
    gap: str = ""
    reason: str = ""
    source: str

    @property
    def counted(self) -> bool:
        """Whether it was run and read in a source: what is recalled or fitted does not count."""
        return self.predicted is not None and not self.tag.startswith(("R", "F"))

    @property
    def direction_ok(self) -> bool | None:
        """Whether the effect has the published sign; None where none is stated."""
        if self.predicted is None or self.direction is None:
            return None
        return self.sign * (self.predicted - self.direction) > 0

    @property
    def ok(self) -> bool | None:
        """Whether sign and size are met; None where it was not run."""
        if self.predicted is None:
            return None
        under = self.low is not None and self.predicted < self.low
        over = self.high is not None and self.predicted > self.high
        return not under and not over and self.direction_ok is not False

    @property
    def error_pct(self) -> float | None:
        """Predicted over expected, less 1."""
        if self.predicted is None or not self.expected:
            return None
        return 100 * (self.predicted / self.expected - 1)


def in_band(  # noqa: PLR0913  (the columns of the table)
    row_id: str,
    what: str,
    expected: float | None,
    band: tuple[float | None, float | None],
    predicted: float,
    *,
    tag: str,
    source: str,
    kind: ChipRowKind = "sim",
    direction: float | None = None,
    sign: int = 1,
    unit: str = "",
    gap: str = "",
    reason: str = "",
) -> ChipRow:
    """Return a row that was run."""
    return ChipRow(
        row_id=row_id,
        what=what,
        kind=kind,
        expected=expected,
        low=band[0],
        high=band[1],
        predicted=float(predicted),
        direction=direction,
        sign=sign,
        unit=unit,
        tag=tag,
        gap=gap,
        reason=reason,
        source=source,
    )


def not_checked(row_id: str, what: str, *, tag: str, source: str, reason: str) -> ChipRow:
    """Return a row that nothing here can check."""
    return ChipRow(
        row_id=row_id,
        what=what,
        kind="sim",
        expected=None,
        low=None,
        high=None,
        tag=tag,
        reason=reason,
        source=source,
    )
