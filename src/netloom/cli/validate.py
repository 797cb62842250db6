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

__all__ = ["validate"]

_SUITES = ("collectives",)


def validate(
    suite: str = "collectives",
    *,
    data: Path | None = None,
    json: bool = False,
    rows: bool = False,
) -> int:
    """Compare predictions with measurements and say how far off they are.

    Returns 1 when the suite is over its bound or no row counts, else 0.

    Args:
        suite: What to check: ``collectives``.
        data: Your own measurements, a CSV file in the columns of the shipped tables.
        json: Print JSON instead of tables.
        rows: Print every row, not only the sums.
    """
    from netloom.study import validate as study  # noqa: PLC0415  (numpy-free start-up)

    if suite not in _SUITES:
        message = f"suite: {suite!r} is unknown; choose {', '.join(_SUITES)}"
        raise SpecError(message)
    measured = study.shipped_rows() if data is None else study.read_rows(data)
    result = study.validate_collectives(measured, load_catalog())
    if json:
        _print_json(result, rows=rows)
    else:
        _print_text(result, rows=rows)
    return 0 if result.bound_ok else 1


def _print_json(result: SuiteResult, *, rows: bool) -> None:
    shown = asdict(result)
    per_row = shown.pop("per_row")
    if rows:
        shown["per_row"] = [_row_json(row) for row in per_row]
    print(dumps(shown, indent=2))


def _row_json(row: dict[str, object]) -> dict[str, object]:
    """Return *row* under the keys of docs/json.md, which also serve suites in other units."""
    names = {"measured_gbps": "measured", "predicted_gbps": "predicted"}
    return {names.get(key, key): value for key, value in row.items()}


def _print_text(result: SuiteResult, *, rows: bool) -> None:
    if rows:
        _print_rows(result.per_row)
    if not result.counted:
        print(
            f"{result.suite}: {result.rows} rows, none of them counted: nothing was checked\n"
            f"  reported apart ({result.apart_rows}): median {_pct(result.apart_median_abs_error_pct)}; "
            f"--rows says why each does not count"
        )
        return
    _print_sources("held-out rows by source", result.by_source)
    _print_sources("counted rows by table", result.by_table)
    verdict = "within" if result.bound_ok else "OVER"
    print(
        f"{result.suite}: {result.rows} rows, {result.counted} counted, {result.inside} of them "
        f"inside the range claimed\n"
        f"  absolute error: median {_pct(result.median_abs_error_pct)}, "
        f"mean {_pct(result.mean_abs_error_pct)}, p90 {_pct(result.p90_abs_error_pct)}; "
        f"bias {_pct(result.bias_pct, sign='+')}\n"
        f"  held-out rows ({result.held_out_rows}): median "
        f"{_pct(result.held_out_median_abs_error_pct)}\n"
        f"  reported apart ({result.apart_rows}): median {_pct(result.apart_median_abs_error_pct)}\n"
        f"  {verdict} the bound of {result.bound_pct:g} % on each table's median"
    )


def _pct(value: float | None, *, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.1f} %"


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
        size_mib = None if row.size_bytes is None else row.size_bytes / 2**20
        error = "-" if row.error_pct is None else f"{row.error_pct:+.1f}%"
        print(
            f"{row.row_id:>5} {row.collective:<14} {row.num_nodes:>5} {row.num_ranks:>5} "
            f"{_figure(size_mib):>10} {_figure(row.measured_gbps):>9} "
            f"{_figure(row.predicted_gbps):>9} {error:>8}  "
            f"{row.algorithm} {row.protocol}; {_remark(row)}"
        )
    print()


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _remark(row: RowResult) -> str:
    fitted = "a constant was taken from it. " if row.fitted else ""
    return f"{row.gpu}: {fitted}{row.reason}".strip()
