"""Whether measured steps vouch for a predicted one, axis by axis.

Rows vouch within their kind: the same GPU generation, layers, precision and software, which must
be met together. Within it every other axis asks for a row near by, and for the rows nearest on
that axis to be met. What is not near names the axis and the nearest value that was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.validated.axes import AXES, KIND_AXES, axis_named
from netloom.validated.steps import MAX_MEDIAN_PCT, judged_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.validated.axes import StepAxis, StepPoint
    from netloom.validated.steps import StepRow

__all__ = ["KindRows", "StepKind", "kind_of", "rows_of_kind", "step_doubts"]

# What the median error of rows may be that vouch for others; how large it is, the interval says.
# Of dense steps twice the bound of those whose measurement was derived; of mixtures their own.
MAX_PCT: Final = {"dense": 2 * MAX_MEDIAN_PCT, "mixture": 6.0}
_BILLION: Final = 10**9
_OTHERS: Final = tuple(axis for axis in AXES if axis.is_judged and axis not in KIND_AXES)


class StepKind(NamedTuple):
    """What rows must share to vouch for a step."""

    generation: str
    layers: str
    precision: str
    software: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.layers} steps on {self.generation} in {self.precision} with {self.software}"


def kind_of(point: StepPoint) -> StepKind:
    """Return the kind of *point*."""
    return StepKind(point.generation, point.layers, point.precision, point.software)


@dataclass(frozen=True, slots=True)
class KindRows:
    """The rows that a kind of step is compared with.

    Attributes:
        rows: Of the kind itself; of the nearest wider one where it was not measured.
        doubts: About the kind.
    """

    kind: StepKind
    rows: tuple[StepRow, ...]
    doubts: tuple[str, ...]
    _known: dict[tuple[str, float | str], str] = field(default_factory=dict, repr=False)

    def doubt(self, name: str, value: float | str) -> str:
        """Return why *value* of the axis *name* is outside; empty when rows vouch for it."""
        known = self._known.get((name, value))
        if known is None:
            known = self._known[name, value] = _axis_doubt(axis_named(name), value, self)
        return known


def step_doubts(point: StepPoint) -> Iterator[str]:
    """Yield why *point* is outside what was measured, axis by axis."""
    near = rows_of_kind(kind_of(point))
    yield from near.doubts
    for axis in _OTHERS:
        doubt = near.doubt(axis.name, getattr(point, axis.name))
        if doubt:
            yield doubt


@cache
def rows_of_kind(kind: StepKind) -> KindRows:
    """Return the shipped rows that steps of *kind* are compared with."""
    return _narrowed(kind, judged_rows())


def _narrowed(kind: StepKind, rows: Sequence[StepRow]) -> KindRows:
    """Return the rows of *kind*; an axis on which no row agrees is in doubt and left out."""
    left = tuple(rows)
    doubts: list[str] = []
    for axis in KIND_AXES:
        value = getattr(kind, axis.name)
        same = tuple(row for row in left if axis.is_near(value, getattr(row.point, axis.name)))
        if same:
            left = same
        else:
            doubts.append(_unmeasured(axis, value, left))
    if not doubts and (off_pct := _off_pct(left, kind)):
        doubts.append(
            f"{_sentence(kind)} were measured in {len(left)} rows, {off_pct:.0f} % off in "
            "the median."
        )
    return KindRows(kind, left, tuple(doubts))


def _unmeasured(axis: StepAxis, value: str, rows: Sequence[StepRow]) -> str:
    found = sorted({str(getattr(row.point, axis.name)) for row in rows})
    return f"No step was measured with {axis.said} {value}; measured were {', '.join(found)}."


def _axis_doubt(axis: StepAxis, value: float | str, near: KindRows) -> str:
    vouching = [row for row in near.rows if axis.is_near(value, getattr(row.point, axis.name))]
    if not vouching:
        measured = [getattr(row.point, axis.name) for row in near.rows]
        return (
            f"No step was measured near {axis.said} {_said(value)}; nearest is "
            f"{_nearest(axis, value, measured)} ({near.kind})."
        )
    off_pct = _off_pct(vouching, near.kind)
    if not off_pct or near.doubts:
        return ""
    rows = "row is" if len(vouching) == 1 else "rows are"
    return (
        f"Near {axis.said} {_said(value)} {len(vouching)} measured {rows} {off_pct:.0f} % off in "
        f"the median ({near.kind})."
    )


def _nearest(axis: StepAxis, value: float | str, measured: Sequence[float | str]) -> str:
    """Return the measured value that is nearest; of names, all that there are."""
    if axis.factor is None:
        return " or ".join(sorted({str(one) for one in measured}))
    alike = [one for one in measured if (one == 1) == (value == 1)] if axis.is_degree else []
    return _said(min(alike or measured, key=lambda one: axis.between(value, one)))


def _off_pct(rows: Sequence[StepRow], kind: StepKind) -> float:
    """Return the median error of *rows* where it is over what such rows may be off; else 0."""
    found = median(abs(row.error_pct) for row in rows if row.error_pct is not None)
    return found if found > MAX_PCT[kind.layers] else 0.0


def _sentence(kind: StepKind) -> str:
    said = str(kind)
    return said[0].upper() + said[1:]


def _said(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if value < _BILLION else f"{value / _BILLION:.3g}B"
