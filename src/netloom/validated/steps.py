"""Which training steps were compared with measurements, and how far they came out.

A value of an axis counts as checked where enough rows were measured there and their median error
is small; a range reaches a tenth beyond its last row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from netloom.validated.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Any

__all__ = [
    "HighestMfu",
    "SoftwareOn",
    "Spread",
    "StepRange",
    "StepRow",
    "checked_software",
    "checked_switches",
    "highest_mfu",
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
MARGIN: Final = 1.1


Departures: TypeAlias = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One measured step.

    Attributes:
        software: Which ran it, by the name that ``job.software`` has.
        switches: How that run departs from what the name stands for, as ``job.software`` has it.
        mfu: Measured, by netloom's own count of what the model needs; None where the row ran
            something the model does not cover, and of mixtures of experts.
        exposed_share: Predicted; None like the error where the row could not be predicted.
        error_pct: Predicted over measured, less 1.
        consistent: Whether the row does not contradict itself or others.
        fitted: Whether a parameter was taken from it; such rows prove nothing.
    """

    row_id: str
    source: str
    generation: str
    eight_bit: bool
    technology: str
    software: str
    switches: Departures
    num_gpus: int
    parameters: float
    experts: bool
    consistent: bool
    fitted: bool
    mfu: float | None
    exposed_share: float | None
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
    """Where dense steps were met.

    Attributes:
        parameters: Fewest and most.
        max_exposed_share: Of a step, on the technologies.
        beyond: The rows on more GPUs than that: their spread, fewest and most GPUs.
        mixtures: The spread of mixtures of experts, which were not met.
    """

    parameters: tuple[float, float]
    max_gpus: int
    technologies: frozenset[str]
    max_exposed_share: float
    beyond: Spread
    beyond_gpus: tuple[int, int]
    mixtures: Spread


@cache
def step_rows() -> tuple[StepRow, ...]:
    """Return every published step."""
    return tuple(
        StepRow(
            row_id=row["row_id"],
            source=row["source"],
            generation=row["generation"],
            eight_bit=row["eight_bit"] == "1",
            technology=row["technology"],
            software=row["software"],
            switches=frozenset(_pair(text) for text in row["switches"].split()),
            num_gpus=int(row["num_gpus"]),
            parameters=float(row["parameters"]),
            experts=row["experts"] == "1",
            consistent=row["consistent"] == "1",
            fitted=row["fitted"] == "1",
            mfu=_number(row["mfu"]),
            exposed_share=_number(row["exposed_share"]),
            error_pct=_number(row["error_pct"]),
        )
        for row in rows_of("steps.csv")
    )


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _number(text: str) -> float | None:
    return float(text) if text else None


@cache
def step_range() -> StepRange:
    """Return where dense steps were met."""
    judged = _judged()
    dense = _dense()
    sizes = _met(dense, lambda row: row.num_gpus, MIN_ROWS_AT_A_SIZE)
    technologies = _met(dense, lambda row: row.technology, MIN_ROWS_OF_A_TECHNOLOGY)
    exposed = _met(dense, _exposed_bin, MIN_ROWS_AT_A_SIZE, max_median_pct=MAX_EXPOSED_MEDIAN_PCT)
    larger = [row for row in dense if row.num_gpus > max(sizes)]
    counts = [
        row.parameters
        for row in dense
        if row.num_gpus <= max(sizes) and row.technology in technologies
    ]
    return StepRange(
        parameters=(min(counts) / MARGIN, max(counts) * MARGIN),
        max_gpus=max(sizes),
        technologies=frozenset(technologies),
        max_exposed_share=(1 + max(exposed)) * EXPOSED_BIN,
        beyond=_spread(larger),
        beyond_gpus=(min(row.num_gpus for row in larger), max(row.num_gpus for row in larger)),
        mixtures=_spread(row for row in judged if row.experts),
    )


def _judged() -> list[StepRow]:
    """Return the rows that could be predicted and that no parameter was taken from."""
    return [row for row in step_rows() if row.error_pct is not None and not row.fitted]


def _dense() -> list[StepRow]:
    return [row for row in _judged() if row.consistent and not row.experts]


@cache
def checked_software() -> dict[SoftwareOn, Spread]:
    """Return how far dense steps of each software on each GPU generation came out."""
    rows: defaultdict[SoftwareOn, list[StepRow]] = defaultdict(list)
    for row in _dense():
        rows[SoftwareOn(row.software, row.generation)].append(row)
    return {pair: _spread(some) for pair, some in rows.items()}


@cache
def checked_switches() -> dict[SoftwareOn, frozenset[Departures]]:
    """Return how the runs of each software on each GPU generation departed from its name."""
    found: defaultdict[SoftwareOn, set[Departures]] = defaultdict(set)
    for row in step_rows():
        if row.consistent:
            found[SoftwareOn(row.software, row.generation)].add(row.switches)
    return {pair: frozenset(some) for pair, some in found.items()}


@cache
def met_software() -> frozenset[SoftwareOn]:
    """Return the software that dense steps were met of, by GPU generation."""
    return frozenset(
        pair
        for pair, spread in checked_software().items()
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
        key = row.generation, row.eight_bit
        if row.mfu is not None and (key not in found or row.mfu > found[key].mfu):
            found[key] = HighestMfu(row.mfu, row.row_id, row.source)
    return found
