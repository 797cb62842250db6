"""One self-contained HTML page for several jobs on one fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import (
    HUES,
    SECONDS,
    BarPart,
    Bars,
    ChartAxis,
    Figure,
    Plot,
    Series,
    dash_of,
)
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold
from netloom.report.whatif.share import HEADINGS, sharing_cells, sharing_headline

if TYPE_CHECKING:
    from netloom.study.whatif.share import Sharing

__all__ = ["sharing_page"]


def sharing_page(found: Sharing) -> str:
    """Return the page as one string of HTML."""
    page = Page(
        title=found.scenario.name or "jobs that share a fabric",
        subtitle="; ".join(
            f"{lot.name}: {len(lot.nodes):,} nodes from {lot.arrival_s:g} s" for lot in found.lots
        ),
        answer=AnswerBox(headline=sharing_headline(found)),
        sections=(
            HtmlTable(
                title="Jobs",
                caption="Each job alone on the fabric, beside the others, and at worst.",
                headings=HEADINGS,
                rows=[sharing_cells(lot) for lot in found.lots],
                folds=doubts_fold(found.validity.doubts),
            ),
            Gallery(figures=_figures(found)),
        ),
    )
    return render(page)


def _figures(found: Sharing) -> tuple[Figure, ...]:
    return (
        Figure(
            key="time",
            title="Timeline",
            caption=(
                "Step time over that alone, while the same jobs run; the last time is drawn a "
                "tenth longer where a job never ends."
            ),
            chart=timeline(found),
        ),
        Figure(
            key="slow",
            title="Slowdown",
            caption=(
                "In the mean over the phases of the others, and when they always send what hurts "
                "most."
            ),
            chart=slowdowns(found),
        ),
    )


def timeline(found: Sharing) -> Plot:
    """Return the slowdown of each job over time, a line each."""
    last_s = max((span.end_s or span.start_s for span in found.spans), default=0.0)
    lines = []
    for number, lot in enumerate(found.lots):
        x: list[float] = []
        y: list[float] = []
        for span in found.spans:
            if number in span.steps_s:
                end_s = span.end_s if span.end_s is not None else max(1.1 * last_s, 1.0)
                x += [span.start_s, end_s]
                y += [span.steps_s[number] / lot.alone_s] * 2
        lines.append(
            Series(name=lot.name, x=tuple(x), y=tuple(y), hue=number % HUES, dash=dash_of(number))
        )
    return Plot(
        x=ChartAxis(title="time", unit=SECONDS, from_zero=True),
        y=ChartAxis(title="step time over that alone"),
        series=tuple(lines),
    )


def slowdowns(found: Sharing) -> Bars:
    """Return the mean and the worst slowdown, a pair of bars a job."""
    values = (
        ("shared", [lot.slowdown for lot in found.lots]),
        ("at worst", [lot.worst_s / lot.alone_s for lot in found.lots]),
    )
    return Bars(
        axis=ChartAxis(title="step time over that alone", from_zero=True),
        rows="job",
        labels=tuple(lot.name for lot in found.lots),
        parts=tuple(
            BarPart(name=label, values=tuple(value), hue=number)
            for number, (label, value) in enumerate(values)
        ),
    )
