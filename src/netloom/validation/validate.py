"""Score the models on measurements: the shipped suites, or measurements of one's own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from netloom.compute.device import calibrated
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.results.plain import to_plain
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.validation.chips.suite import ChipSuite, validate_chips
from netloom.validation.collectives import suite as collectives
from netloom.validation.collectives.suite import SuiteResult
from netloom.validation.collectives.tables import read_table
from netloom.validation.fct import suite as fct
from netloom.validation.fct.cases import long_cases, shipped_cases
from netloom.validation.fct.suite import FctSuite
from netloom.validation.fct.user_rows import read_fct
from netloom.validation.layers import suite as layers
from netloom.validation.layers.suite import LayerSuite
from netloom.validation.memory.measured import read_memory_rows, shipped_memory_rows
from netloom.validation.memory.suite import MemorySuite, validate_memory
from netloom.validation.span.suite import SpanSuite, validate_span
from netloom.validation.steps import suite as steps
from netloom.validation.steps.suite import StepSuite
from netloom.validation.tune.suite import validate_tune

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.parts.load import Catalog
    from netloom.results.progress import OnProgress
    from netloom.validation.fct.case import FctCase
    from netloom.validation.fct.rows import FctPoint
    from netloom.validation.layers.timed import TimedSuite

__all__ = ["QUICK_SUITES", "SUITES", "AnySuite", "Validation", "validate"]

AnySuite: TypeAlias = (
    SuiteResult | LayerSuite | StepSuite | MemorySuite | FctSuite | SpanSuite | ChipSuite
)

QUICK_SUITES: Final = ("collectives", "layers", "gpu-steps", "steps", "memory")
SPAN_SUITE: Final = "span"  # checks of formulas: no errors to sum over, so not among all
CHIP_SUITE: Final = "chips"  # signs and sizes of published effects, likewise
TIMED_SUITES: Final = ("layers", "gpu-steps")  # they take a calibration
LONG_SUITE: Final = "fct"  # it simulates for minutes
TUNE_SUITE: Final = "tune"  # packets for half a minute, with --long for several
SUITES: Final = (*QUICK_SUITES, SPAN_SUITE, CHIP_SUITE, TUNE_SUITE, LONG_SUITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation(Tabular):
    """How far predictions are off, suite by suite.

    Attributes:
        suites: By name.
        asked: The suite that was asked for; empty for all.
    """

    suites: Mapping[str, AnySuite]
    asked: str = ""

    @property
    def bound_ok(self) -> bool:
        """Whether every suite keeps its bound."""
        return all(suite.bound_ok for suite in self.suites.values())

    def table(self) -> Table:
        """Return a row for each suite."""
        keys = ("rows", "inside", "median_abs_error_pct", "p90_abs_error_pct", "bias_pct")
        return Table.from_rows(
            {
                "suite": name,
                **{key: getattr(suite, key) for key in keys},
                "bound_ok": suite.bound_ok,
            }
            for name, suite in self.suites.items()
        )

    def to_json(self, *, rows: bool = False) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents; *rows* adds every measured value.

        One suite that was asked for stands alone; all stand by name.
        """
        shown = {name: _plain_suite(suite, rows=rows) for name, suite in self.suites.items()}
        return shown[self.asked] if self.asked else shown


def validate(  # noqa: PLR0913  (a facade: what the command line takes)
    suite: str = "",
    *,
    data: str | os.PathLike[str] | None = None,
    calibration: str | os.PathLike[str] | None = None,
    long: bool = False,
    catalog: Catalog | None = None,
    on_progress: OnProgress | None = None,
    announce: Callable[[str], None] = lambda _line: None,
) -> Validation:
    """Return how far predictions are from measurements.

    >>> import netloom as nl
    >>> nl.validate("gpu-steps").bound_ok
    True

    Args:
        suite: One of :data:`SUITES`; default: all that take seconds.
        data: Your own measurements, a CSV file in the columns of the suite's shipped tables.
        calibration: What ``calibrate`` wrote on the GPU that *data* was measured on.
        long: Of ``fct``, the cases that take many minutes each, and no others; of ``tune``, more
            seeds and trials.
        catalog: The parts; default: the shipped ones.
        on_progress: Told how much is done, and how much there is.
        announce: Told how long a long suite takes, before it begins.

    Raises:
        SpecError: there is no such suite, or a file cannot be read.
    """
    own = None if data is None else Path(data)
    _check(suite, own, long=long)
    if calibration is not None and suite not in ("", *TIMED_SUITES):
        raise SpecError(
            option="--calibration",
            what=f"{suite} takes none",
            remedy=f"use it with {' or '.join(TIMED_SUITES)}, or leave it out",
        )
    if suite == LONG_SUITE:
        found: AnySuite = _fct(own, long=long, on_progress=on_progress, announce=announce)
        return Validation(suites={suite: found}, asked=suite)
    if suite == SPAN_SUITE:
        rows = validate_span(catalog or load_catalog(), on_progress=on_progress)
        return Validation(suites={suite: rows}, asked=suite)
    if suite == CHIP_SUITE:
        checked = validate_chips(catalog or load_catalog(), on_progress=on_progress)
        return Validation(suites={suite: checked}, asked=suite)
    if suite == TUNE_SUITE:
        tuned = validate_tune(long=long, on_progress=on_progress)
        return Validation(suites={suite: tuned}, asked=suite)
    names = (suite,) if suite else QUICK_SUITES
    advance = counter(on_progress, len(names))
    device = None if calibration is None else Path(calibration)
    suites = {}
    for name in names:
        suites[name] = _quick(name, own, device, catalog or load_catalog())
        advance()
    return Validation(suites=suites, asked=suite)


def _check(suite: str, data: Path | None, *, long: bool) -> None:
    if suite and suite not in SUITES:
        raise SpecError(
            key="suite", what=f"{suite!r} is unknown", remedy=f"choose {', '.join(SUITES)}"
        )
    if data is not None and not suite:
        raise SpecError(
            option="--data", what=f"say which suite {data} belongs to: {', '.join(SUITES)}"
        )
    if data is not None and suite in {SPAN_SUITE, CHIP_SUITE, TUNE_SUITE}:
        raise SpecError(
            option="--data", what=f"{suite} takes no data", remedy="leave it out: its rows ship"
        )
    if long and (suite not in {LONG_SUITE, TUNE_SUITE} or data is not None):
        raise SpecError(
            option="--long",
            what="the long cases are shipped ones of fct and tune",
            remedy="say: netloom validate fct --long",
        )


def _quick(name: str, data: Path | None, calibration: Path | None, parts: Catalog) -> AnySuite:
    if name == "collectives":
        if data is None:
            return collectives.validate_shipped(parts)
        table = read_table(data)
        return collectives.validate_collectives(table.rows, parts, skipped=table.skipped)
    if name == "steps":
        measured = steps.shipped_step_rows() if data is None else steps.read_step_rows(data)
        return steps.validate_steps(measured, parts)
    if name == "memory":
        held = shipped_memory_rows() if data is None else read_memory_rows(data)
        return validate_memory(held, parts)
    timed: TimedSuite = "layers" if name == "layers" else "gpu-steps"
    times = layers.shipped_timed(timed) if data is None else layers.read_timed(data, timed)
    return layers.validate_timed(
        times, timed, None if calibration is None else calibrated(calibration)
    )


def _fct(
    data: Path | None,
    *,
    long: bool,
    on_progress: OnProgress | None,
    announce: Callable[[str], None],
) -> FctSuite:
    points: tuple[FctPoint, ...] = ()
    if long:
        cases = long_cases()
    elif data is None:
        points, cases = fct.shipped_points(), shipped_cases()
    else:
        points, cases = read_fct(data)
    cores = os.cpu_count() or 1
    for line in _fct_lines(points, cases, long=long, own=data is not None, cores=cores):
        announce(line)
    advance = counter(on_progress, 100 * fct.num_jobs(points, cases))
    return fct.validate_fct(points, cases, num_workers=cores, on_progress=advance)


def _fct_lines(
    points: Sequence[FctPoint], cases: Sequence[FctCase], *, long: bool, own: bool, cores: int
) -> list[str]:
    """Return what to say before it begins: how many runs, and how long they take."""
    all_min = sum(case.core_min for case in cases)
    if long:
        least_min = max(all_min / cores, *(case.core_min for case in cases))
        what = f"{len(cases)} runs, {all_min:.0f} minutes of a core"
        return [f"{what}: {least_min:.0f} minutes and more on {cores} cores"]
    lines = []
    if points:
        minutes = max(fct.curves_min(points), 1)
        lines.append(
            f"{fct.num_jobs(points, ())} runs for curves, {minutes:.0f} minutes of a core or so"
        )
    if own and cases:
        slow = f"; {all_min:.0f} minutes of a core or so for long ones, which are drawn once"
        lines.append(
            f"{len(cases)} numbers, medians of 3 or 9 draws where one draw says little; 128 "
            f"paths and a tolerance of 5 % where the file does not say{slow if all_min > 0 else ''}"
        )
    return lines


def _plain_suite(result: AnySuite, *, rows: bool) -> dict[str, Any]:
    shown: dict[str, Any] = to_plain(result)
    each = shown.pop("per_row")
    if not rows:
        shown.pop("curves", None)
        return shown
    # Collectives name their unit; the plain keys are those of every suite.
    if isinstance(result, ChipSuite):
        shown["per_row"] = [
            {
                "measured": row["expected"],
                "error_pct": one.error_pct,
                "inside": one.counted,
                "ok": one.ok,
                "direction_ok": one.direction_ok,
                **row,
            }
            for row, one in zip(each, result.per_row, strict=True)
        ]
        return shown
    if isinstance(result, SpanSuite):
        shown["per_row"] = [
            {
                "measured": row["expected"],
                "error_pct": one.error_pct,
                "inside": one.ok is not None,
                **row,
            }
            for row, one in zip(each, result.per_row, strict=True)
        ]
        return shown
    shown["per_row"] = [
        {"measured": row.get("measured_gbps"), "predicted": row.get("predicted_gbps"), **row}
        for row in each
    ]
    return shown
