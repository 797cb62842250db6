"""How ``netloom validate steps`` prints what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.validation.steps.coverage import SourceCoverage
    from netloom.validation.steps.suite import GroupResult, StepResult, StepSuite

__all__ = ["print_steps"]

LARGE = "tier A, 7B and more on 64 GPUs and more"


def print_steps(result: StepSuite, *, rows: bool) -> None:
    """Print the suite as text, every row first when *rows* is set."""
    if rows:
        _print_rows(result.per_row)
    for title, groups in (
        ("by source", result.by_source),
        ("by model size", result.by_model_size),
        ("by GPUs", result.by_num_gpus),
        ("by what is asked of it", result.groups),
    ):
        _print_groups(title, groups)
    _print_intervals(result.intervals)
    print(f"steps: {result.rows} rows, {result.inside} inside the range claimed")
    if result.mean_abs_error_pct is None:
        none = "no row counts: those inside were fitted, or there are none; --rows says why"
        print(f"{_held(result)}  {none}")
        return
    large = any(group.name == "large" for group in result.groups)
    slope = result.slope_points_per_doubling
    trend = "" if slope is None else f"  trend {slope:+.2f} points per doubling of the GPUs\n"
    verdict = "within" if result.bound_ok else "OVER"
    print(
        f"  {LARGE if large else 'all of them'}: mean {result.mean_abs_error_pct:.2f} %, "
        f"median {result.median_abs_error_pct:.2f} %, p90 {result.p90_abs_error_pct:.1f} %; "
        f"bias {result.bias_pct:+.2f} %\n"
        f"{trend}{_held(result)}  {verdict} the bounds"
    )


def _held(result: StepSuite) -> str:
    """Return what the intervals hold, as a line."""
    if result.interval_share is None:
        return ""
    rows = sum(row.held is not None and not row.fitted for row in result.per_row)
    line = f"  90 % intervals hold {result.interval_share:.1%} of {rows:,} rows"
    if result.interval_row_share is None:
        return f"{line}\n"
    alone = f"{result.interval_row_share:.1%} with the row alone left out"
    return f"{line}, their sources left out; {alone}\n"


def _print_intervals(sources: Sequence[SourceCoverage]) -> None:
    if not sources:
        return
    print(f"90 % intervals, each source left out\n{'rows':>6} {'held':>6} {'width':>8}")
    for one in sources:
        print(f"{one.rows:>6} {one.held:>6} {one.width_pct:>6.0f} %  {one.source}")
    print()


def _print_groups(title: str, groups: Sequence[GroupResult]) -> None:
    print(f"{title}\n{'rows':>6} {'inside':>6} {'mean':>8} {'median':>8} {'p90':>8} {'bias':>8}")
    for group in groups:
        over = "" if group.bound_ok else "  OVER ITS BOUND"
        print(
            f"{group.rows:>6} {group.inside:>6} {_pct(group.mean_abs_error_pct)} "
            f"{_pct(group.median_abs_error_pct)} {_pct(group.p90_abs_error_pct)} "
            f"{_pct(group.bias_pct, sign='+')}  {group.name}{over}"
        )
    print()


def _pct(value: float | None, *, sign: str = "") -> str:
    """Return an error in eight columns; a dash where no row counts."""
    return f"{'-':>8}" if value is None else f"{value:>{sign}6.1f} %"


def _print_rows(results: Sequence[StepResult]) -> None:
    print(f"{'row':<24} {'GPUs':>6} {'measured':>10} {'predicted':>10} {'error':>8}  remark")
    for row in results:
        predicted = "" if row.predicted is None else f"{row.predicted:.4g} s"
        error = "" if row.error_pct is None else f"{row.error_pct:+.1f}%"
        print(
            f"{row.row_id:<24} {row.num_gpus:>6} {f'{row.measured:.4g} s':>10} "
            f"{predicted:>10} {error:>8}  {_remark(row)}"
        )
    print()


def _remark(row: StepResult) -> str:
    fitted = "a parameter was taken from it." if row.fitted else ""
    spread = "" if row.spread_pct is None else f"its own steps spread by {row.spread_pct:.1f} %"
    parts = (row.model, row.gpu, spread, fitted, row.assumed, row.reason)
    return "; ".join(part for part in parts if part)
