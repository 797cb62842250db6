"""Which training steps were compared with measurements, and how far they came out.

A technology, and a share of exposed communication, count as checked where enough rows were
measured there and their median error is small; :mod:`netloom.validated.near` has all other axes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from netloom.validated.axes import StepPoint
from netloom.validated.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

__all__ = [
    "HighestMfu",
    "SoftwareOn",
    "Spread",
    "StepRange",
    "StepRow",
    "checked_software",
    "checked_switches",
    "highest_mfu",
    "judged_rows",
    "met_at",
    "met_software",
    "step_range",
    "step_rows",
]

MAX_MEDIAN_PCT: Final = 6.0  # the bound of steps whose measurement was derived
MIN_ROWS_AT_A_SIZE: Final = 3
MIN_ROWS_OF_A_TECHNOLOGY: Final = 10
MIN_ROWS_OF_SOFTWARE: Final = 2
MAX_EXPOSED_MEDIAN_PCT: Final = 15.0  # the bound of collectives, which decide exposed steps
EXPOSED_BIN: Final = 0.05


Departures: TypeAlias = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One measured step.

    Attributes:
        point: Where it lies on every axis; its software by the name that ``job.software`` has.
        eight_bit: Whether products run on 8 bits or fewer.
        switches: How that run departs from what the name stands for, as ``job.software`` has it.
        mfu: Measured, by netloom's own count of what the model needs; None where the row ran
            something the model does not cover, and of mixtures of experts.
        exposed_share: Predicted; None like the error where the row could not be predicted.
        exposed_faster: How much of the step its exposed communication may be over, at most, by the
            errors of the collectives that it stands on; ``exposed_slower``, under.
        error_pct: Predicted over measured, less 1.
        consistent: Whether the row does not contradict itself or others.
        fitted: Whether a parameter was taken from it; such rows prove nothing.
    """

    row_id: str
    source: str
    point: StepPoint
    eight_bit: bool
    technology: str
    switches: Departures
    consistent: bool
    fitted: bool
    mfu: float | None
    exposed_share: float | None
    exposed_faster: float | None
    exposed_slower: float | None
    error_pct: float | None


class Spread(NamedTuple):
    """How far some rows came out: the number of rows, and errors in percent with their sign."""

    rows: int
    low_pct: float
    high_pct: float
    median_pct: float


class SoftwareOn(NamedTuple):
    """Training software on a GPU generation."""

    name: str
    generation: str


class HighestMfu(NamedTuple):
    """The published step with the highest share of peak."""

    mfu: float
    row_id: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRange:
    """Where exposed communication was met, with dense layers.

    Attributes:
        max_exposed_share: Of a step, on the technologies.
    """

    technologies: frozenset[str]
    max_exposed_share: float


@cache
def step_rows() -> tuple[StepRow, ...]:
    """Return every published step."""
    return tuple(map(_step_row, rows_of("steps.csv")))


def _step_row(row: dict[str, str]) -> StepRow:
    return StepRow(
        row_id=row["row_id"],
        source=row["source"],
        point=_point(row),
        eight_bit=row["eight_bit"] == "1",
        technology=row["technology"],
        switches=frozenset(_pair(text) for text in row["switches"].split()),
        consistent=row["consistent"] == "1",
        fitted=row["fitted"] == "1",
        mfu=_number(row["mfu"]),
        exposed_share=_number(row["exposed_share"]),
        exposed_faster=_number(row.get("exposed_faster", "")),
        exposed_slower=_number(row.get("exposed_slower", "")),
        error_pct=_number(row["error_pct"]),
    )


def _point(row: dict[str, str]) -> StepPoint:
    """Return the axes of a row; one that the table does not have yet is neutral."""
    return StepPoint(**{name: value(row.get(name)) for name, value in _AXES.items()})


_VALUES: Final[dict[str, Callable[[str | None], Any]]] = {
    "str": lambda text: text or "",
    "int": lambda text: int(text or 1),
    "float": lambda text: float(text or 1),
}
_AXES: Final = {one.name: _VALUES[str(one.type)] for one in fields(StepPoint)}


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _number(text: str) -> float | None:
    return float(text) if text else None


@cache
def judged_rows() -> tuple[StepRow, ...]:
    """Return the rows that prove something: predicted, not fitted, and without contradiction."""
    return tuple(
        row
        for row in step_rows()
        if row.error_pct is not None and row.consistent and not row.fitted
    )


@cache
def step_range() -> StepRange:
    """Return where exposed communication was met."""
    dense = _dense()
    technologies = _met(dense, lambda row: row.technology, MIN_ROWS_OF_A_TECHNOLOGY)
    exposed = _met(dense, _exposed_bin, MIN_ROWS_AT_A_SIZE, max_median_pct=MAX_EXPOSED_MEDIAN_PCT)
    return StepRange(
        technologies=frozenset(technologies),
        max_exposed_share=(1 + max(exposed, default=-1)) * EXPOSED_BIN,
    )


def _dense() -> list[StepRow]:
    return [row for row in judged_rows() if row.point.layers == "dense"]


@cache
def checked_software(layers: str = "dense") -> dict[SoftwareOn, Spread]:
    """Return how far steps of each software on each GPU generation came out, by kind of layers."""
    rows: defaultdict[SoftwareOn, list[StepRow]] = defaultdict(list)
    for row in judged_rows():
        if row.point.layers == layers:
            rows[SoftwareOn(row.point.software, row.point.generation)].append(row)
    return {pair: _spread(some) for pair, some in rows.items()}


@cache
def checked_switches() -> dict[SoftwareOn, frozenset[Departures]]:
    """Return how the runs of each software on each GPU generation departed from its name."""
    found: defaultdict[SoftwareOn, set[Departures]] = defaultdict(set)
    for row in step_rows():
        if row.consistent:
            found[SoftwareOn(row.point.software, row.point.generation)].add(row.switches)
    return {pair: frozenset(some) for pair, some in found.items()}


@cache
def met_software(layers: str = "dense") -> frozenset[SoftwareOn]:
    """Return the software that steps of such layers were met of, by GPU generation."""
    return frozenset(
        pair
        for pair, spread in checked_software(layers).items()
        if spread.rows >= MIN_ROWS_OF_SOFTWARE and spread.median_pct <= MAX_MEDIAN_PCT
    )


@cache
def met_at(generation: str, precision: str) -> frozenset[str]:
    """Return the software that dense steps of a precision were met of on a GPU generation."""
    rows: defaultdict[str, list[StepRow]] = defaultdict(list)
    for row in _dense():
        if (row.point.generation, row.point.precision) == (generation, precision):
            rows[row.point.software].append(row)
    found = {name: _spread(some) for name, some in rows.items()}
    return frozenset(
        name
        for name, spread in found.items()
        if spread.rows >= MIN_ROWS_OF_SOFTWARE and spread.median_pct <= MAX_MEDIAN_PCT
    )


def _exposed_bin(row: StepRow) -> int:
    return int((row.exposed_share or 0.0) / EXPOSED_BIN)


def _met(
    rows: list[StepRow],
    key: Callable[[StepRow], Any],
    least: int,
    *,
    max_median_pct: float = MAX_MEDIAN_PCT,
) -> set[Any]:
    """Return the values of an axis at which enough rows were met."""
    errors: defaultdict[Hashable, list[float]] = defaultdict(list)
    for row in rows:
        if row.error_pct is not None:
            errors[key(row)].append(abs(row.error_pct))
    return {
        value
        for value, some in errors.items()
        if len(some) >= least and median(some) <= max_median_pct
    }


def _spread(rows: Iterable[StepRow]) -> Spread:
    errors = [row.error_pct for row in rows if row.error_pct is not None]
    return Spread(len(errors), min(errors), max(errors), median(map(abs, errors)))


@cache
def highest_mfu() -> dict[tuple[str, bool], HighestMfu]:
    """Return the highest measured share of peak by generation and whether products are 8-bit."""
    found: dict[tuple[str, bool], HighestMfu] = {}
    for row in step_rows():
        key = row.point.generation, row.eight_bit
        if row.mfu is not None and (key not in found or row.mfu > found[key].mfu):
            found[key] = HighestMfu(row.mfu, row.row_id, row.source)
    return found
