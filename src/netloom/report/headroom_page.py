"""One self-contained HTML page for a headroom budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import PLAIN, BarPart, Bars, ChartAxis, Figure
from netloom.report.headroom import (
    LIMITS,
    PORTS,
    SETTINGS,
    check_lines,
    first_limit,
    headline,
    limit_rows,
    port_rows,
    setting_rows,
    title,
)
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page

if TYPE_CHECKING:
    from netloom.study.headroom.budget import HeadroomBudget

__all__ = ["headroom_page"]


def headroom_page(found: HeadroomBudget) -> str:
    """Return the page as one string of HTML."""
    page = Page(
        title="Headroom of lossless Ethernet",
        subtitle=title(found),
        answer=AnswerBox(headline=headline(found), lines=(first_limit(found),)),
        sections=(
            Gallery(figures=(_by_length(found),)),
            HtmlTable(
                title="Bytes by port",
                caption="One lossless priority, in bytes, by every formula known for the switch.",
                headings=PORTS,
                rows=port_rows(found),
                notes=("Any number down to its constants: netloom headroom --why.",),
            ),
            HtmlTable(
                title="What goes on the switch",
                caption="What deploy writes and simulate runs.",
                headings=SETTINGS,
                rows=setting_rows(found),
                is_words=True,
                notes=tuple(check_lines(found)),
            ),
            HtmlTable(
                title="What breaks first",
                caption="The nearest limit first.",
                headings=LIMITS,
                rows=limit_rows(found),
                is_words=True,
            ),
        ),
    )
    return render(page)


def _by_length(found: HeadroomBudget) -> Figure:
    return Figure(
        key="by-length",
        title="The pool by length of cable",
        caption="Were every cable that long: megabytes that are left to share.",
        chart=Bars(
            axis=ChartAxis(title="shared pool, MB", unit=PLAIN, from_zero=True),
            rows="cable",
            labels=tuple(f"{length:,} m" for length, _, _ in found.by_length),
            parts=(BarPart(name="", values=tuple(pool / 1e6 for *_, pool in found.by_length)),),
        ),
    )
