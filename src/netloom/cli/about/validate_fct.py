"""Completion times, published and simulated, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.validation.fct.rows import FctRow
    from netloom.validation.fct.suite import FctSuite

__all__ = ["print_fct"]


def print_fct(result: FctSuite, *, rows: bool) -> None:
    """Print what the suite found."""
    if rows:
        print(f"{'published':>10} {'simulated':>10} {'error':>8} {'aim':>6}  row; remark")
        for row in result.per_row:
            print(_row(row))
        print()
    print(f"{'rows':>5} {'within':>6} {'median':>8} {'most':>8} {'bias':>8}  curve or source")
    for group in result.groups:
        print(
            f"{group.rows:>5} {group.within:>6} {group.median_abs_error_pct:>6.1f} % "
            f"{group.most_abs_error_pct:>6.1f} % {group.bias_pct:>+6.1f} %  {group.name}"
        )
    print(
        f"{result.suite}: {result.rows} rows, {result.inside} of them judged, {result.within} "
        f"within what is aimed at\n"
        f"  absolute error: median {_pct(result.median_abs_error_pct)}, "
        f"mean {_pct(result.mean_abs_error_pct)}, p90 {_pct(result.p90_abs_error_pct)}, "
        f"most {_pct(result.most_abs_error_pct)}; bias {_pct(result.bias_pct, sign='+')}\n"
        f"  schemes that publication tells apart: {result.pairs_in_order} of {result.pairs} pairs "
        f"in its order\n"
        f"  {'within' if result.bound_ok else 'OVER'} its bounds"
    )


def _row(row: FctRow) -> str:
    error = "-" if row.error_pct is None else f"{row.error_pct:+.1f}%"
    predicted = "-" if row.predicted is None else f"{row.predicted:.4g}"
    aim = f"{row.tolerance_pct:g}%" if row.counted else "-"
    unit = "" if row.unit == "slowdown" else f", {row.unit}"
    remark = row.reason if row.within or not row.counted else f"outside. {row.reason}"
    return (
        f"{row.measured:>10.4g} {predicted:>10} {error:>8} {aim:>6}  {row.row_id}{unit}; {remark}"
    )


def _pct(value: float | None, *, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.1f} %"
