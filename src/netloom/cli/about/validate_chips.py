"""How ``netloom validate chips`` prints what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.validation.chips.row import ChipRow
    from netloom.validation.chips.suite import ChipSuite

__all__ = ["print_chips"]


def print_chips(result: ChipSuite, *, rows: bool) -> None:
    """Print the suite as text, every row first when *rows* is set."""
    if rows:
        print(f"{'published':>10} {'taken as':>20} {'predicted':>11}  sign ok   row; remark")
        for row in result.per_row:
            print(_line(row))
        print()
    print(
        f"chips: {result.rows} rows, {result.inside} count: {result.met} met, {result.known_gaps} "
        f"known gaps; signs {result.direction_met} of {result.directions}; {result.recalled} "
        f"recalled and not counted, {result.not_run} not run\n"
        f"  {'within' if result.bound_ok else 'OVER'} its bound\n"
    )


def _line(row: ChipRow) -> str:
    words = {None: "-", True: "yes", False: "NO"}
    band = f"{_number(row.low)} to {_number(row.high)}" if row.predicted is not None else ""
    remark = "; ".join(part for part in (row.gap, row.reason, row.source) if part)
    return (
        f"{_number(row.expected):>10} {band:>20} {_number(row.predicted):>11}  "
        f"{words[row.direction_ok]:<4} {words[row.ok]:<4} {row.row_id} {row.what} {row.unit} "
        f"[{row.tag}]; {remark}"
    )


def _number(value: float | None) -> str:
    return "any" if value is None else f"{value:.4g}"
