"""How ``netloom validate span`` prints what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.validation.span.row import SpanRow
    from netloom.validation.span.suite import SpanSuite

__all__ = ["print_span"]


def print_span(result: SpanSuite, *, rows: bool) -> None:
    """Print the suite as text, every row first when *rows* is set."""
    if rows:
        print(f"{'expected':>20} {'predicted':>12}  ok   row; remark")
        for row in result.per_row:
            print(_line(row))
        print()
    print(
        f"{result.suite}: {result.rows} rows, {result.inside} judged: {result.met} met, "
        f"{result.known_gaps} known gaps; {result.not_run} not run\n"
        f"  {'within' if result.bound_ok else 'OVER'} its bound\n"
    )


def _line(row: SpanRow) -> str:
    expected = "" if row.expected is None else f"{row.expected:.6g}"
    if row.expected_to is not None:
        expected = f"{expected} to {row.expected_to:.6g}"
    predicted = "" if row.predicted is None else f"{row.predicted:.6g}"
    ok = {None: "-", True: "yes", False: "NO"}[row.ok]
    remark = "; ".join(part for part in (row.gap, row.reason) if part)
    return (
        f"{expected:>20} {predicted:>12}  {ok:<4} {row.row_id} {row.what} {row.unit} "
        f"[{row.tag}]; {remark}"
    )
