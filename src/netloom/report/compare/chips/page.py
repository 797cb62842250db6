"""One self-contained HTML page for chips ranked for a job."""

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
    mark_of,
)
from netloom.report.compare.chips.text import CHIP_COLUMNS, MARKS, figure_words, headline
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold

if TYPE_CHECKING:
    from netloom.study.compare.chips.ranked import RankedChip
    from netloom.study.compare.chips.ranking import ChipComparison

__all__ = ["chips_page"]


def chips_page(found: ChipComparison) -> str:
    """Return the page as one string of HTML."""
    marked = frozenset(
        row for row, one in enumerate(found.ranked) if one in (found.best, found.baseline)
    )
    doubts = dict.fromkeys(doubt for one in found.ranked for doubt in one.validity.doubts)
    return render(
        Page(
            title=found.title,
            subtitle=found.subtitle,
            answer=AnswerBox(headline=headline(found), folds=doubts_fold(tuple(doubts))),
            sections=(
                HtmlTable(
                    title="Chips",
                    caption="Ranked by step in classes of 1 %, then by tail. The first and RoCEv2 "
                    "as deployed stand out. paths: slowest flow of a permutation alone over in "
                    "company; innocent: a flow beside an incast over its time alone; buffer: what "
                    "a switch must set aside.",
                    headings=[name for name, _ in CHIP_COLUMNS[:-1]],
                    rows=[[show(one) for _, show in CHIP_COLUMNS[:-1]] for one in found.ranked],
                    marked=marked,
                    notes=(
                        MARKS,
                        *(f"{one.chip}: left out: {one.reason}" for one in found.refused),
                    ),
                ),
                Gallery(figures=(_steps(found), _tails(found))),
                _what_runs(found),
                *((_catalogued(found),) if found.catalogued else ()),
            ),
        )
    )


def _steps(found: ChipComparison) -> Figure:
    return Figure(
        key="steps",
        title="Step of the job",
        caption="On the whole cluster; error bars are what is not known of the chip.",
        chart=Bars(
            axis=ChartAxis(title="step", unit=SECONDS, from_zero=True),
            rows="chip",
            labels=tuple(one.name for one in found.ranked),
            parts=(BarPart(name="step", values=tuple(one.step_s for one in found.ranked)),),
            ranges=tuple(
                one.step_range_s if one.step_range_s[1] > one.step_range_s[0] else None
                for one in found.ranked
            ),
        ),
    )


def _tails(found: ChipComparison) -> Figure:
    groups: dict[str, list[RankedChip]] = {}
    for one in found.ranked:
        groups.setdefault(one.architecture.group, []).append(one)
    series = [
        Series(
            name=group,
            x=tuple(one.runs.victim_slowdown for one in members),
            y=tuple(one.tail_s for one in members),
            hue=index % HUES,
            join="none",
            mark=mark_of(index),
            notes=tuple(one.name for one in members),
        )
        for index, (group, members) in enumerate(groups.items())
    ]
    return Figure(
        key="tails",
        title="Tail against innocent flows",
        caption="Packets on the reference network. Lower left is better; a mark names its chip.",
        chart=Plot(
            x=ChartAxis(title="innocent flow beside an incast, times its own time", is_log=True),
            y=ChartAxis(title="p99 of the job's messages", unit=SECONDS, from_zero=True),
            series=tuple(series),
        ),
    )


def _what_runs(found: ChipComparison) -> HtmlTable:
    return HtmlTable(
        title="What limits each, and what runs for it",
        caption="packets: the mechanism itself; stand-in: mechanisms that come near it; closed "
        "form: a formula alone.",
        headings=["chip", "what limits it here", "what changes", "what is run", "source"],
        rows=[
            [
                f"{one.name}: {one.architecture.title}",
                f"{one.limit}. {' '.join(one.architecture.limits)}",
                one.architecture.changes,
                f"{one.architecture.fidelity}: {one.architecture.mapping}",
                "; ".join(
                    f"{source.citation} ({source.confidence})"
                    for source in one.architecture.sources
                ),
            ]
            for one in found.ranked
        ],
        is_words=True,
    )


def _catalogued(found: ChipComparison) -> HtmlTable:
    return HtmlTable(
        title="In the catalogue alone",
        caption="No engine runs these; unknown figures are ranges.",
        headings=["architecture", "what it is", "figures", "limits", "source"],
        rows=[
            [
                one.title,
                one.changes,
                "; ".join(figure_words(figure) for figure in one.figures),
                " ".join(one.limits),
                "; ".join(figure.source.citation for figure in one.figures),
            ]
            for one in found.catalogued
        ],
        is_words=True,
    )
