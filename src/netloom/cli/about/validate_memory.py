"""How ``netloom validate memory`` prints what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.units import SIZE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.validation.memory.suite import MemoryResult, MemorySuite

__all__ = ["print_memory"]


def print_memory(result: MemorySuite, *, rows: bool) -> None:
    """Print the suite as text, every row first when *rows* is set."""
    if rows:
        _print_rows(result.per_row)
    print(f"{'rows':>6} {'median':>8} {'p90':>8} {'most':>8} {'bias':>8}  group")
    for group in result.groups:
        print(
            f"{group.rows:>6} {group.median_abs_error_pct:>6.2f} % "
            f"{group.p90_abs_error_pct:>6.2f} % {group.most_abs_error_pct:>6.2f} % "
            f"{group.bias_pct:>+6.2f} %  {group.name}{'' if group.bound_ok else '  OVER ITS BOUND'}"
        )
    print(
        f"memory: {result.rows} sizes, {result.inside} of them inside the range claimed; "
        f"{result.refused} runs that took place would be refused"
    )
    if result.median_abs_error_pct is None:
        print("  no row counts; --rows says why")
        return
    print(
        f"  absolute error: median {result.median_abs_error_pct:.2f} %, mean "
        f"{result.mean_abs_error_pct:.2f} %, p90 {result.p90_abs_error_pct:.2f} %, most "
        f"{result.most_abs_error_pct:.2f} %; bias {result.bias_pct:+.2f} %\n"
        f"  {'within' if result.bound_ok else 'OVER'} its bound\n"
    )


def _print_rows(results: Sequence[MemoryResult]) -> None:
    print(f"{'measured':>10} {'predicted':>10} {'error':>8}  row, quantity; remark")
    for row in results:
        predicted = "" if row.predicted is None else format_quantity(row.predicted, SIZE)
        error = "" if row.error_pct is None else f"{row.error_pct:+.2f}%"
        told = "told what layers keep; not judged" if row.fitted else ""
        remark = "; ".join(part for part in (row.model, told, row.assumed, row.reason) if part)
        print(
            f"{format_quantity(row.measured, SIZE):>10} {predicted:>10} {error:>8}  "
            f"{row.row_id}, {row.quantity}; {remark}"
        )
    print()
