"""One self-contained HTML page for cables as built against cables as designed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import COUNT, BarPart, Bars, ChartAxis, Figure
from netloom.report.html import render
from netloom.report.ops.audit import right, silence
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page

if TYPE_CHECKING:
    from netloom.ops.observe.audit import Audit

__all__ = ["audit_page"]

MAX_ROWS: Final = 1000


def audit_page(audit: Audit, *, title: str = "As built against as designed") -> str:
    """Return the page as one string of HTML."""
    doubt = silence(audit)
    found = (_differences(audit), Gallery(figures=(_kinds(audit),))) if audit.differences else ()
    page = Page(
        title=title,
        subtitle=f"{audit.num_cables:,} cables between {audit.num_devices:,} devices as designed",
        answer=AnswerBox(headline=right(audit), lines=(doubt,) if doubt else ()),
        sections=found,
    )
    return render(page)


def _differences(audit: Audit) -> HtmlTable:
    rest = len(audit.differences) - MAX_ROWS
    return HtmlTable(
        title=f"{len(audit.differences):,} differences",
        caption="By kind, then by cable; numbers of cables are those of the design.",
        headings=("kind", "cables", "what is different"),
        rows=[
            (one.kind, ", ".join(map(str, one.cables)), one.text)
            for one in audit.differences[:MAX_ROWS]
        ],
        is_words=True,
        notes=(f"and {rest:,} more; --json has all",) if rest > 0 else (),
    )


def _kinds(audit: Audit) -> Figure:
    counts = {kind: count for kind, count in audit.counts.items() if count}
    return Figure(
        key="kinds",
        title="Differences by kind",
        caption="How many of each kind there are.",
        chart=Bars(
            axis=ChartAxis(title="differences", unit=COUNT, from_zero=True),
            rows="kind",
            labels=tuple(counts),
            parts=(BarPart(name="", values=tuple(float(count) for count in counts.values())),),
        ),
    )
