"""One self-contained HTML page for a measured step beside its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import Figure
from netloom.report.compare.figures import time_by_part
from netloom.report.explain import HEADINGS, headline, line_cells, verdict_lines
from netloom.report.html import render
from netloom.report.predict import title
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.study.explain.explanation import Explanation

__all__ = ["explanation_page"]


def explanation_page(found: Explanation) -> str:
    """Return the page as one string of HTML."""
    return render(
        Page(
            title=title(found.prediction),
            subtitle=found.prediction.scenario.name or "",
            answer=AnswerBox(headline=headline(found), lines=tuple(verdict_lines(found))),
            sections=tuple(_sections(found)),
        )
    )


def _sections(found: Explanation) -> Iterator[HtmlTable | Gallery]:
    if found.lines:
        yield HtmlTable(
            title="Where the step goes",
            caption="Disjoint parts of one rank's step; measured less predicted last.",
            headings=HEADINGS,
            rows=[line_cells(one) for one in found.lines],
            folds=doubts_fold(found.prediction.step.validity.doubts),
        )
        yield Gallery(figures=(_figure(found),))
    if found.rates:
        yield HtmlTable(
            title="Collectives",
            caption="Each as the last rank to join it saw it, beside the network alone.",
            headings=("collective", "size", "ranks", "a step", "recorded", "predicted", "ratio"),
            rows=[
                (
                    one.operation,
                    f"{one.size_bytes / 2**20:.2f} MiB",
                    str(one.num_ranks),
                    f"{one.num:g}",
                    f"{1e3 * one.recorded_s:.3f} ms",
                    f"{1e3 * one.predicted_s:.3f} ms",
                    f"{one.ratio:.2f}",
                )
                for one in found.rates
            ],
        )


def _figure(found: Explanation) -> Figure:
    spent = {
        "predicted": {one.phase: one.predicted_s or 0.0 for one in found.lines},
        "measured": {one.phase: one.measured_s or 0.0 for one in found.lines},
    }
    return Figure(
        key="step",
        title="The step, to scale",
        caption="Predicted and measured, part by part.",
        chart=time_by_part(spent, rows="step", axis="time of a step"),
    )
