"""``netloom validate``: score the models against measurements."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.catalog.load import load_catalog
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.validate import RowResult, SourceResult, SuiteResult
    from netloom.study.validate_steps import StepSuite

__all__ = ["validate"]

_SUITES = ("collectives", "steps")


def validate(
    suite: str = "collectives",
    *,
    data: Path | None = None,
    json: bool = False,
    rows: bool = False,
) -> int:
    """Compare predictions with measurements and say how far off they are.

    Returns 1 when the suite is over its bound, else 0.

    Args:
        suite: What to check: ``collectives`` or ``steps``.
        data: Your own measurements, a CSV file in the columns of the shipped tables.
        json: Print JSON instead of tables.
        rows: Print every row, not only the sums.
    """
    from netloom.study import validate as study  # noqa: PLC0415  (numpy-free start-up)

    if suite not in _SUITES:
        message = f"suite: {suite!r} is unknown; choose {', '.join(_SUITES)}"
        raise SpecError(message)
    if suite == "steps":
        return _steps(data, json=json, rows=rows)
    measured = study.shipped_rows() if data is None else study.read_rows(data)
    result = study.validate_collectives(measured, load_catalog())
    if json:
        _print_json(result, rows=rows)
    else:
        _print_text(result, rows=rows)
    return 0 if result.bound_ok else 1


def _steps(data: Path | None, *, json: bool, rows: bool) -> int:
    from netloom.cli.validate_steps import print_steps  # noqa: PLC0415
    from netloom.study import validate_steps as study  # noqa: PLC0415

    measured = study.shipped_step_rows() if data is None else study.read_step_rows(data)
    result = study.validate_steps(measured, load_catalog())
    if json:
        _print_json(result, rows=rows)
    else:
        print_steps(result, rows=rows)
    return 0 if result.bound_ok else 1


def _print_json(result: SuiteResult | StepSuite, *, rows: bool) -> None:
    shown = asdict(result)
    if not rows:
        shown.pop("per_row")
    print(dumps(shown, indent=2))


def _print_text(result: SuiteResult, *, rows: bool) -> None:
    if rows:
        _print_rows(result.per_row)
    _print_sources("held-out rows by source", result.by_source)
    _print_sources("counted rows by table", result.by_table)
    verdict = "within" if result.bound_ok else "OVER"
    print(
        f"{result.suite}: {result.rows} rows, {result.counted} counted, {result.inside} of them "
        f"inside the range claimed\n"
        f"  absolute error: median {result.median_abs_error_pct:.1f} %, "
        f"mean {result.mean_abs_error_pct:.1f} %, p90 {result.p90_abs_error_pct:.1f} %; "
        f"bias {result.bias_pct:+.1f} %\n"
        f"  held-out rows ({result.held_out_rows}): median "
        f"{result.held_out_median_abs_error_pct:.1f} %\n"
        f"  reported apart ({result.apart_rows}): median {result.apart_median_abs_error_pct:.1f} %\n"
        f"  {verdict} the bound of {result.bound_pct:g} % on each table's median"
    )


def _print_sources(title: str, sources: Sequence[SourceResult]) -> None:
    print(f"{title}\n{'rows':>6} {'median':>8} {'bias':>8}  source")
    for found in sources:
        print(
            f"{found.rows:>6} {found.median_abs_error_pct:>6.1f} % {found.bias_pct:>+6.1f} %  "
            f"{found.source}"
        )
    print()


def _print_rows(results: Sequence[RowResult]) -> None:
    head = ("row", "collective", "nodes", "ranks", "MiB", "measured", "predicted", "error")
    print("{:>5} {:<14} {:>5} {:>5} {:>10} {:>9} {:>9} {:>8}  algorithm; remark".format(*head))
    for row in results:
        print(
            f"{row.row_id:>5} {row.collective:<14} {row.num_nodes:>5} {row.num_ranks:>5} "
            f"{row.size_bytes / 2**20:>10.4g} {row.measured_gbps:>9.4g} "
            f"{row.predicted_gbps:>9.4g} {row.error_pct:>+7.1f}%  "
            f"{row.algorithm} {row.protocol}; {_remark(row)}"
        )
    print()


def _remark(row: RowResult) -> str:
    fitted = "a constant was taken from it. " if row.fitted else ""
    return f"{row.gpu}: {fitted}{row.reason}".strip()
