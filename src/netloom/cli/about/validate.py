"""``netloom validate``: score the models against measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from netloom.cli.about.validate_chips import print_chips
from netloom.cli.about.validate_collectives import print_collectives
from netloom.cli.about.validate_fct import print_fct
from netloom.cli.about.validate_memory import print_memory
from netloom.cli.about.validate_span import print_span
from netloom.cli.about.validate_steps import print_steps
from netloom.cli.exits import Exit
from netloom.cli.options import PageOutput
from netloom.cli.output import announce, emit_json, write_atomically
from netloom.cli.progress import reporting
from netloom.cli.show import verdict
from netloom.report.validation import validation_page
from netloom.validation.chips.suite import ChipSuite
from netloom.validation.collectives.suite import SuiteResult
from netloom.validation.fct.suite import FctSuite
from netloom.validation.layers.suite import LayerRow, LayerSuite
from netloom.validation.memory.suite import MemorySuite
from netloom.validation.span.suite import SpanSuite
from netloom.validation.steps.suite import StepSuite
from netloom.validation.validate import AnySuite
from netloom.validation.validate import validate as validate_models

__all__ = ["validate"]


def validate(  # noqa: PLR0913  (one option of the command each)
    suite: str | None = None,
    *,
    data: Path | None = None,
    calibration: Path | None = None,
    rows: bool = False,
    long: bool = False,
    by: Literal["collective", "technology"] | None = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Compare predictions with measurements and say how far off they are.

    Exits with 1 when a suite is over its bound or nothing of it counts. The JSON is one object
    for a suite, one keyed by suite for all.

    Args:
        suite: What to check: ``collectives``, ``layers``, ``gpu-steps``, ``steps`` or ``memory``;
            default: all of these; or ``span``, lines between sites; ``chips``, published effects
            of chips; ``tune``, settings and what they are worth; or ``fct``, which simulates for
            minutes.
        data: Your own measurements, a CSV file in the columns of the suite's shipped tables.
        calibration: What ``netloom calibrate gpu`` wrote on the GPU that *data* was measured on.
        rows: Print every row, not only the sums.
        long: Of ``fct``, simulate the cases that take many minutes each, and no others; how long
            is said before. Of ``tune``, more seeds and trials.
        by: Of ``collectives``, split each group of the table by this.
    """
    with reporting("validating") as told:
        found = validate_models(
            suite or "",
            data=data,
            calibration=calibration,
            long=long,
            on_progress=told,
            announce=lambda line: announce(f"netloom: {line}"),
        )
    if output.report is not None:
        every_row = replace(found, asked="").to_json(rows=True)
        write_atomically(output.report, validation_page(every_row))
    result = found.to_json(rows=rows)
    code = verdict(output, result)
    if output.json:
        emit_json(result)
    else:
        for one in found.suites.values():
            _print_text(one, rows=rows, by=by)
    return code if found.bound_ok else Exit.VERDICT


def _print_text(result: AnySuite, *, rows: bool, by: str | None) -> None:
    if isinstance(result, SuiteResult):
        print_collectives(result, rows=rows, by=by)
    elif isinstance(result, StepSuite):
        print_steps(result, rows=rows)
    elif isinstance(result, MemorySuite):
        print_memory(result, rows=rows)
    elif isinstance(result, SpanSuite):
        print_span(result, rows=rows)
    elif isinstance(result, ChipSuite):
        print_chips(result, rows=rows)
    elif isinstance(result, FctSuite):
        print_fct(result, rows=rows)
    else:
        _print_layers(result, rows=rows)


def _layer_line(row: LayerRow) -> str:
    predicted, error = "-", "-"
    if row.predicted is not None and row.error_pct is not None:
        predicted, error = f"{1e3 * row.predicted:.4g} ms", f"{row.error_pct:+.1f}%"
    remark = row.reason or ("not judged" if row.fitted else "")
    return (
        f"{1e3 * row.measured:>9.4g} ms {predicted:>12} {error:>8}  "
        f"{row.row_id} {row.quantity} ({row.group}); {remark}"
    )


def _print_layers(result: LayerSuite, *, rows: bool) -> None:
    if rows:
        print(f"{'measured':>12} {'predicted':>12} {'error':>8}  row; remark")
        for row in result.per_row:
            print(_layer_line(row))
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
