"""``netloom validate``: score the models against measurements."""

from __future__ import annotations

import os
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from netloom.cli.output import announce, to_plain, write_atomically
from netloom.cli.progress import progress
from netloom.errors import SpecError
from netloom.parts.load import load_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netloom.validation.collectives.suite import SuiteResult
    from netloom.validation.fct.case import FctCase
    from netloom.validation.fct.suite import FctSuite
    from netloom.validation.layers.suite import LayerSuite, TimedSuite
    from netloom.validation.steps.suite import StepSuite

    AnySuite = SuiteResult | LayerSuite | StepSuite | FctSuite

__all__ = ["validate"]


def validate(  # noqa: PLR0913  (one option of the command each)
    suite: str | None = None,
    *,
    data: Path | None = None,
    calibration: Path | None = None,
    json: bool = False,
    rows: bool = False,
    long: bool = False,
    by: Literal["collective", "technology"] | None = None,
    report: Path | None = None,
) -> int:
    """Compare predictions with measurements and say how far off they are.

    Returns 1 when a suite is over its bound or nothing of it counts, else 0.

    Args:
        suite: What to check: ``collectives``, ``layers``, ``gpu-steps`` or ``steps``, all of these
            without; or ``fct``, which simulates for minutes.
        data: Your own measurements, a CSV file in the columns of the suite's shipped tables.
        calibration: What ``netloom calibrate gpu`` wrote on the GPU that *data* was measured on.
        json: Print JSON instead of tables: one object for a suite, one keyed by suite for all.
        rows: Print every row, not only the sums.
        long: Of ``fct``, simulate the cases that take many minutes each, and no others; how long
            is said before.
        by: Of ``collectives``, split each group of the table by this.
        report: Write a self-contained HTML page with predicted against measured to this file.
    """
    known = {**_SUITES, **_LONG_SUITES}
    if suite is not None and suite not in known:
        message = f"suite: {suite!r} is unknown; choose {', '.join(known)}"
        raise SpecError(message)
    if data is not None and suite is None:
        message = f"--data: say which suite {data} belongs to: {', '.join(known)}"
        raise SpecError(message)
    if long and (suite not in _LONG_SUITES or data is not None):
        message = "--long: the long cases are shipped ones of fct; say: netloom validate fct --long"
        raise SpecError(message)
    names = list(_SUITES) if suite is None else [suite]
    results = [_long_fct()] if long else _results(names, data, calibration)
    if report is not None:
        _write_report(report, dict(zip(names, results, strict=True)))
    if json:
        shown = [_shown(result, rows=rows) for result in results]
        print(dumps(dict(zip(names, shown, strict=True)) if suite is None else shown[0], indent=2))
    else:
        for result in results:
            _print_text(result, rows=rows, by=by)
    return 0 if all(result.bound_ok for result in results) else 1


def _results(names: Sequence[str], data: Path | None, calibration: Path | None) -> list[AnySuite]:
    if names[0] in _LONG_SUITES:
        return [_LONG_SUITES[name](data) for name in names]
    results = []
    with progress("validating", len(names)) as advance:
        for name in names:
            results.append(_SUITES[name](data, calibration))
            advance()
    return results


def _write_report(report: Path, results: Mapping[str, AnySuite]) -> None:
    from netloom.report.validation import validation_page  # noqa: PLC0415

    shown = {name: _shown(result, rows=True) for name, result in results.items()}
    write_atomically(report, validation_page(shown))


def _collectives(data: Path | None, _: Path | None) -> AnySuite:
    from netloom.validation.collectives import suite as study  # noqa: PLC0415  (numpy-free start-up)

    if data is None:
        return study.validate_shipped(load_catalog())
    table = study.read_table(data)
    return study.validate_collectives(table.rows, load_catalog(), skipped=table.skipped)


def _layers(data: Path | None, calibration: Path | None) -> AnySuite:
    return _timed("layers", data, calibration)


def _gpu_steps(data: Path | None, calibration: Path | None) -> AnySuite:
    return _timed("gpu-steps", data, calibration)


def _timed(suite: TimedSuite, data: Path | None, calibration: Path | None) -> AnySuite:
    from netloom.compute.device import calibrated  # noqa: PLC0415  (numpy-free start-up)
    from netloom.validation.layers import suite as study  # noqa: PLC0415

    measured = study.shipped_timed(suite) if data is None else study.read_timed(data, suite)
    device = None if calibration is None else calibrated(calibration)
    return study.validate_timed(measured, suite, device)


def _steps(data: Path | None, _: Path | None) -> AnySuite:
    from netloom.validation.steps import suite as study  # noqa: PLC0415  (numpy-free start-up)

    measured = study.shipped_step_rows() if data is None else study.read_step_rows(data)
    return study.validate_steps(measured, load_catalog())


def _fct(data: Path | None) -> AnySuite:
    from netloom.validation.fct import suite as study  # noqa: PLC0415  (numpy-free start-up)
    from netloom.validation.fct.cases import shipped_cases  # noqa: PLC0415
    from netloom.validation.fct.user_rows import read_fct  # noqa: PLC0415

    points, cases = (study.shipped_points(), shipped_cases()) if data is None else read_fct(data)
    if points:
        runs = study.num_jobs(points, ())
        minutes = max(study.curves_min(points), 1)
        announce(f"netloom: {runs} runs for curves, {minutes:.0f} minutes of a core or so")
    if data is not None and cases:
        _announce_cases(cases)
    with progress("simulating", 100 * study.num_jobs(points, cases)) as advance:
        return study.validate_fct(
            points, cases, num_workers=os.cpu_count() or 1, on_progress=advance
        )


def _announce_cases(cases: Sequence[FctCase]) -> None:
    all_min = sum(case.core_min for case in cases)
    long = f"; {all_min:.0f} minutes of a core or so for long ones, which are drawn once" * (
        all_min > 0
    )
    announce(
        f"netloom: {len(cases)} numbers, medians of 3 or 9 draws where one draw says little; 128 "
        f"paths and a tolerance of 5 % where the file does not say{long}"
    )


def _long_fct() -> AnySuite:
    from netloom.validation.fct import suite as study  # noqa: PLC0415  (numpy-free start-up)
    from netloom.validation.fct.cases import long_cases  # noqa: PLC0415

    cases, num_cores = long_cases(), os.cpu_count() or 1
    all_min = sum(case.core_min for case in cases)
    least_min = max(all_min / num_cores, *(case.core_min for case in cases))
    announce(
        f"netloom: {len(cases)} runs, {all_min:.0f} minutes of a core: {least_min:.0f} minutes and "
        f"more on {num_cores} cores"
    )
    with progress("simulating", 100 * len(cases)) as advance:
        return study.validate_fct((), cases, num_workers=num_cores, on_progress=advance)


# They say themselves how far they have come.
_LONG_SUITES: Final[dict[str, Callable[[Path | None], AnySuite]]] = {"fct": _fct}

_SUITES: Final[dict[str, Callable[[Path | None, Path | None], AnySuite]]] = {
    "collectives": _collectives,
    "layers": _layers,
    "gpu-steps": _gpu_steps,
    "steps": _steps,
}


def _shown(result: AnySuite, *, rows: bool) -> dict[str, Any]:
    shown: dict[str, Any] = to_plain(result)
    each = shown.pop("per_row")
    if not rows:
        shown.pop("curves", None)
    if rows:
        # Collectives name their unit; the plain keys are those of every suite.
        shown["per_row"] = [
            {"measured": row.get("measured_gbps"), "predicted": row.get("predicted_gbps"), **row}
            for row in each
        ]
    return shown


def _print_text(result: AnySuite, *, rows: bool, by: str | None) -> None:
    from netloom.cli.about.validate_collectives import print_collectives  # noqa: PLC0415
    from netloom.cli.about.validate_fct import print_fct  # noqa: PLC0415
    from netloom.cli.about.validate_steps import print_steps  # noqa: PLC0415
    from netloom.validation.collectives.suite import SuiteResult  # noqa: PLC0415
    from netloom.validation.fct.suite import FctSuite  # noqa: PLC0415
    from netloom.validation.steps.suite import StepSuite  # noqa: PLC0415

    if isinstance(result, SuiteResult):
        print_collectives(result, rows=rows, by=by)
    elif isinstance(result, StepSuite):
        print_steps(result, rows=rows)
    elif isinstance(result, FctSuite):
        print_fct(result, rows=rows)
    else:
        _print_layers(result, rows=rows)


def _print_layers(result: LayerSuite, *, rows: bool) -> None:
    if rows:
        print(f"{'measured':>12} {'predicted':>12} {'error':>8}  row; remark")
        for row in result.per_row:
            print(
                f"{1e3 * row.measured:>9.4g} ms {1e3 * row.predicted:>9.4g} ms "
                f"{row.error_pct:>+7.1f}%  {row.row_id} ({row.group}); "
                f"{row.reason or ('not judged' if row.fitted else '')}"
            )
        print()
    print(f"{'rows':>6} {'median':>8} {'p90':>8} {'most':>8} {'bias':>8}  group")
    for group in result.groups:
        print(
            f"{group.rows:>6} {group.median_abs_error_pct:>6.1f} % "
            f"{group.p90_abs_error_pct:>6.1f} % {group.most_abs_error_pct:>6.1f} % "
            f"{group.bias_pct:>+6.1f} %  {group.name}{'' if group.bound_ok else '  OVER ITS BOUND'}"
        )
    for kind, runs in result.loop_runs.items():
        print(f"{kind}: timed as after {runs:g} calls of a GPU at rest")
    print(
        f"{result.suite}: {result.rows} times, {result.inside} of them inside the range claimed\n"
        f"  absolute error: median {_pct(result.median_abs_error_pct)}, "
        f"mean {_pct(result.mean_abs_error_pct)}, p90 {_pct(result.p90_abs_error_pct)}, "
        f"most {_pct(result.most_abs_error_pct)}; bias {_pct(result.bias_pct, sign='+')}\n"
        f"  {'within' if result.bound_ok else 'OVER'} its bound\n"
    )


def _pct(value: float | None, *, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.1f} %"
