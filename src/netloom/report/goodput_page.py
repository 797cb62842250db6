"""One self-contained HTML page for a goodput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import PERCENT, PLAIN, BarPart, Bars, ChartAxis, Figure
from netloom.report.goodput import (
    DOMAINS,
    IMPROVEMENTS,
    RATES,
    assumed,
    domain_rows,
    headline,
    improvement_rows,
    rate_rows,
    spares,
    title,
)
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold

if TYPE_CHECKING:
    from netloom.study.goodput.uptime import Uptime

__all__ = ["goodput_page"]


def goodput_page(found: Uptime) -> str:
    """Return the page as one string of HTML."""
    kept = found.goodput
    page = Page(
        title=title(found),
        subtitle=assumed(kept),
        answer=AnswerBox(headline=headline(kept), lines=(spares(kept),)),
        sections=(
            Gallery(figures=(_time(found), _interruptions(found))),
            HtmlTable(
                title="What would help",
                caption="The largest gain first.",
                headings=("change", *IMPROVEMENTS[1:]),
                rows=improvement_rows(found),
                notes=("Any number down to its constants: netloom goodput --why.",),
                folds=doubts_fold(kept.validity.doubts),
            ),
            HtmlTable(
                title="What interrupts",
                caption="How many parts there are, and how often they stop the job.",
                headings=("part", *RATES[1:]),
                rows=rate_rows(kept),
            ),
            HtmlTable(
                title="What the loss of one part takes away",
                caption="How many nodes stop, and what bandwidth is lost to those that go on.",
                headings=("part", *DOMAINS[1:]),
                rows=domain_rows(found.domains),
            ),
        ),
    )
    return render(page)


def _time(found: Uptime) -> Figure:
    kept = found.goodput
    shares = {"kept in the model": kept.share} | kept.losses()
    return Figure(
        key="time",
        title="Where the time goes",
        caption="Shares of the time from start to end.",
        chart=Bars(
            axis=ChartAxis(title="share of the time", unit=PERCENT, from_zero=True),
            rows="job",
            labels=("job",),
            parts=tuple(
                BarPart(name=name, values=(100 * share,), hue=hue)
                for hue, (name, share) in enumerate(shares.items())
                if share > 0
            ),
            stacked=True,
        ),
    )


def _interruptions(found: Uptime) -> Figure:
    rates = found.goodput.rates
    return Figure(
        key="interruptions",
        title="What interrupts the job",
        caption="Interruptions a day, by the kind of part that fails.",
        chart=Bars(
            axis=ChartAxis(title="interruptions a day", unit=PLAIN, from_zero=True),
            rows="part",
            labels=tuple(rate.part for rate in rates),
            parts=(BarPart(name="", values=tuple(rate.per_s * 86_400 for rate in rates)),),
        ),
    )
