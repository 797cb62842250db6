"""One self-contained HTML page for tuned settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import PLAIN, BarPart, Bars, ChartAxis, Figure
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Item, Listing, Page
from netloom.report.tune.text import (
    BREAKS,
    JOBS,
    KNOBS,
    PHASES,
    SIDE_BY_SIDE,
    STAGES,
    break_rows,
    job_rows,
    knob_rows,
    phase_rows,
    settings_words,
    side_rows,
    stage_rows,
)
from netloom.study.tune.jobs.tuning import TunedJobs
from netloom.study.tune.result import MEANINGS, TunedSettings

if TYPE_CHECKING:
    from netloom.report.sections import Section
    from netloom.study.tune.stages.tuning import StagedSettings

__all__ = ["tune_page"]


def tune_page(found: TunedSettings | StagedSettings | TunedJobs) -> str:
    """Return the page as one string of HTML."""
    if isinstance(found, TunedSettings):
        sections, subtitle = _settings(found), MEANINGS[found.objective]
    elif isinstance(found, TunedJobs):
        sections, subtitle = _jobs(found), f"jobs on {found.link}"
    else:
        sections, subtitle = _stages(found), "classes of a step"
    page = Page(
        title="Tuned settings",
        subtitle=subtitle,
        answer=AnswerBox(headline=found.verdict, lines=()),
        sections=sections,
    )
    return render(page)


def _settings(found: TunedSettings) -> tuple[Section, ...]:
    every = (found.default, *found.presets, found.best)
    chart = Bars(
        axis=ChartAxis(title="milliseconds", unit=PLAIN, from_zero=True),
        rows="settings",
        labels=tuple(one.name for one in every),
        parts=(BarPart(name="", values=tuple(1e3 * one.mean for one in every)),),
    )
    figure = Figure(
        key="side-by-side",
        title="Default, published settings and the best",
        caption="On seeds that the search did not see; shorter is better.",
        chart=chart,
    )
    return (
        Gallery(figures=(figure,)),
        HtmlTable(
            title="Side by side",
            caption="Gains are over the default, each seed against itself.",
            headings=SIDE_BY_SIDE,
            rows=side_rows(found),
            notes=("Any number down to its runs: netloom tune --why.",),
        ),
        HtmlTable(
            title="Which knob matters",
            caption="Each over its whole range, all others at their best.",
            headings=KNOBS,
            rows=knob_rows(found),
        ),
        HtmlTable(
            title="Where it breaks",
            caption="The best against the default where things are worse.",
            headings=BREAKS,
            rows=break_rows(found),
            is_words=True,
        ),
        Listing(
            title="What goes into the scenario",
            items=(Item(name="cluster.fabric.settings:", text=settings_words(found.advised)),),
        ),
    )


def _stages(found: StagedSettings) -> tuple[Section, ...]:
    return (
        HtmlTable(
            title="Service levels",
            caption="Worth: how much longer the window gets with that class at the lowest level.",
            headings=STAGES,
            rows=stage_rows(found),
        ),
        HtmlTable(
            title="What may change from phase to phase",
            caption="A change must take effect within a hundredth of the phase.",
            headings=PHASES,
            rows=phase_rows(found),
        ),
    )


def _jobs(found: TunedJobs) -> tuple[Section, ...]:
    return (
        HtmlTable(
            title="Offsets and priorities",
            caption="Priority 1 is the highest.",
            headings=JOBS,
            rows=job_rows(found),
        ),
    )
