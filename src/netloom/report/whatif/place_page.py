"""One self-contained HTML page for a search for a placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import SECONDS, BarPart, Bars, ChartAxis, Figure
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Fold, Gallery, HtmlTable, Item, Page
from netloom.report.whatif.place import HEADINGS, candidate_rows, headline, ranges, title

if TYPE_CHECKING:
    from netloom.study.whatif.place import Search

__all__ = ["placement_page"]


def placement_page(found: Search) -> str:
    """Return the page as one string of HTML."""
    places = tuple(Item(name=f"{one.how}:", text=ranges(one.nodes)) for one in found.candidates[1:])
    page = Page(
        title="Where to place the job",
        subtitle=title(found),
        answer=AnswerBox(
            headline=headline(found),
            lines=(f"Nodes, in the order of the job's places: {ranges(found.best.nodes)}",),
        ),
        sections=(
            HtmlTable(
                title="Placements",
                caption=(
                    "The bound is a step in which no hop is slowed and nodes are as near as can "
                    "be: no placement beats it."
                ),
                headings=HEADINGS,
                rows=candidate_rows(found),
                marked=frozenset({0}),
                folds=(Fold(summary="Nodes of the others", items=places),) if places else (),
            ),
            Gallery(figures=(_steps(found),)),
        ),
    )
    return render(page)


def _steps(found: Search) -> Figure:
    labels = (*(one.how for one in found.candidates), "bound")
    values = (*(one.step_s for one in found.candidates), found.bound_s)
    return Figure(
        key="steps",
        title="Step by placement",
        caption="Shorter is better; nothing is shorter than the bound.",
        chart=Bars(
            axis=ChartAxis(title="time of a step", unit=SECONDS, from_zero=True),
            rows="placement",
            labels=labels,
            parts=(BarPart(name="", values=values),),
        ),
    )
