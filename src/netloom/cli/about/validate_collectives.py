"""``netloom validate collectives``: the table of groups by size band, and the sums."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from netloom.validation.collectives.cells import BANDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.validation.collectives.cells import TableCell
    from netloom.validation.collectives.suite import RowResult, SourceResult, SuiteResult

__all__ = ["print_collectives"]

_MAX_LISTED: Final = 5
_MAX_REASON: Final = 100


def print_collectives(result: SuiteResult, *, rows: bool, by: str | None = None) -> None:
    """Print what the suite found: every row on request, the table, the sums, the verdict."""
    if rows:
        _print_rows(result.per_row)
    if not result.judged and not result.counted:
        print(
            f"{result.suite}: {result.rows} rows, none of them counted: nothing was checked\n"
            f"  reported apart ({result.apart_rows}): "
            f"median {_pct(result.apart_median_abs_error_pct)}; "
            f"--rows says why each does not count"
        )
        _print_skipped(result)
        return
    _print_sources("held-out rows by source", result.by_source)
    _print_sources("counted rows by table", result.by_table)
    _print_cells(_cells(result, by))
    _print_skipped(result)
    _print_sums(result)


def _cells(result: SuiteResult, by: str | None) -> Sequence[TableCell]:
    if by == "collective":
        return result.by_collective
    return result.by_technology if by == "technology" else result.cells


def _print_cells(cells: Sequence[TableCell]) -> None:
    print("median error of the bus bandwidth by group and size band, in percent")
    left_out = any(cell.left_out_median_pct is not None for cell in cells)
    for group, some in groupby(cells, key=lambda cell: cell.group):
        print(f"{group}")
        head = f"  {'':<11} {'median':>7} {'goal':>5} {'bound':>6} {'bias':>7} {'p90':>7} "
        print(head + f"{'rows':>5} {'machines':>8}" + ("  machine left out" if left_out else ""))
        for cell in sorted(some, key=lambda one: list(BANDS).index(one.band)):
            print(_line(cell, left_out=left_out))
    print()


def _line(cell: TableCell, *, left_out: bool) -> str:
    apart = cell.left_out_median_pct
    shown = "" if not left_out else f" {'-' if apart is None else f'{apart:.1f}':>17}"
    return (
        f"  {cell.band:<11} {cell.median_abs_error_pct:>7.1f} {cell.goal_pct:>5g} "
        f"{f'{cell.bound_pct:g}' if cell.held else '-':>6} {cell.bias_pct:>+7.1f} "
        f"{cell.p90_abs_error_pct:>7.1f} {cell.rows:>5} {cell.machines:>8}{shown}  {_mark(cell)}"
    ).rstrip()


def _mark(cell: TableCell) -> str:
    if not cell.held:
        return "one machine: not held to a bound"
    if not cell.bound_ok:
        return "OVER ITS BOUND"
    return "" if cell.goal_ok else "goal not met"


def _print_skipped(result: SuiteResult) -> None:
    if not result.skipped:
        return
    print(f"{result.skipped_rows} rows could not be read and were skipped")
    reasons = Counter(_reason(row.reason) for row in result.skipped)
    for reason, count in reasons.most_common(_MAX_LISTED):
        print(f"{count:>6}  {reason}")
    if len(reasons) > _MAX_LISTED:
        print(f"{'':>6}  and {len(reasons) - _MAX_LISTED} other reasons; --rows --json has them")
    print()


def _reason(text: str) -> str:
    """Return a reason without its row, so that equal ones are counted together."""
    _, row, rest = text.partition(": row ")
    said = rest.partition(": ")[2] if row else text
    return said if len(said) <= _MAX_REASON else said[:_MAX_REASON] + "..."


def _print_sums(result: SuiteResult) -> None:
    verdict = "within" if result.bound_ok else "OVER"
    held = [cell for cell in result.cells if cell.held]
    met = sum(cell.goal_ok for cell in held)
    print(
        f"{result.suite}: {result.rows} rows, {result.counted} counted, {result.inside} of them "
        f"inside the range claimed\n"
        f"  absolute error: median {_pct(result.median_abs_error_pct)}, "
        f"mean {_pct(result.mean_abs_error_pct)}, p90 {_pct(result.p90_abs_error_pct)}; "
        f"bias {_pct(result.bias_pct, sign='+')}\n"
        f"  held-out rows ({result.held_out_rows}): median "
        f"{_pct(result.held_out_median_abs_error_pct)}\n"
        f"  reported apart ({result.apart_rows}): "
        f"median {_pct(result.apart_median_abs_error_pct)}\n"
        f"  of {result.judged} rows in the table {result.judged_inside} are called inside; "
        f"{result.inside_over_50} of these are over 50 % off\n"
        f"  {met} of {len(held)} cells that are held meet their goal\n"
        f"  {verdict} the bounds of the cells and of {result.bound_pct:g} % on each older table's "
        "median"
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
