"""``netloom explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from netloom.app.explain import read_log, read_traces
from netloom.cli.options import OwnParts, PageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.report.explain import explanation_text
from netloom.report.explain_page import explanation_page
from netloom.study.explain.explanation import explain as explain_step
from netloom.study.inputs import catalog_of
from netloom.units import TIME, parse_quantity

__all__ = ["explain"]

_LONGEST_S: Final = 30 * 86_400.0


def explain(
    scenario: Path,
    *,
    measured: str | None = None,
    trace: tuple[Path, ...] = (),
    log: Path | None = None,
    own: OwnParts = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say why a measured step takes as long as it does.

    Args:
        scenario: A scenario file that describes what was run.
        measured: How long a step took, such as 9.1s; names changes that would make it so.
        trace: A trace of PyTorch's profiler (JSON, also gzipped) or a SQLite export of Nsight
            Systems; give one for each rank, the more the better.
        log: A log of Megatron-LM, NeMo or Megatron-Bridge, with timers where they were printed.
    """
    measured_s = None if measured is None else _seconds(measured)
    timelines = read_traces(trace)  # what is wrong with them is not the scenario's fault
    logged = None if log is None else read_log(log)
    with scenario_at(scenario) as asked:
        found = explain_step(
            asked, catalog_of(asked, own), measured_s=measured_s, traces=timelines, log=logged
        )
    return show(
        found, output, lambda: explanation_text(found), page=lambda: explanation_page(found)
    )


def _seconds(text: str) -> float:
    value_s = parse_quantity(text, TIME, where="--measured")
    if not 0 < value_s <= _LONGEST_S:
        raise SpecError(
            option="--measured",
            what=f"{text!r} is no time of a step, above zero and up to 30 days",
            remedy="write 9.1s",
        )
    return value_s
