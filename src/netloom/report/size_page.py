"""One self-contained HTML page for a sized network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import MONEY, BarPart, Bars, ChartAxis, Figure
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Fold, Gallery, HtmlTable, Item, Page, Section
from netloom.report.size import (
    BILL,
    CABLES,
    TIERS,
    alternative_rows,
    bill_rows,
    cable_rows,
    headline,
    tier_rows,
    totals,
)

if TYPE_CHECKING:
    from netloom.study.size.sizing import Sizing

__all__ = ["sizing_page"]


def sizing_page(sizing: Sizing) -> str:
    """Return the page as one string of HTML."""
    sections: list[Section | None] = [
        Gallery(figures=_figures(sizing), tables=(_tiers(sizing),)),
        _cables(sizing),
        _bill(sizing),
        _alternatives(sizing),
    ]
    page = Page(
        title=headline(sizing),
        answer=AnswerBox(headline=totals(sizing), notes=tuple(sizing.notes)),
        sections=tuple(section for section in sections if section is not None),
    )
    return render(page)


def _tiers(sizing: Sizing) -> HtmlTable:
    return HtmlTable(
        title="Switches",
        caption="How many of each tier, and how many of its ports each uses.",
        headings=TIERS,
        rows=tier_rows(sizing),
    )


def _cables(sizing: Sizing) -> HtmlTable:
    return HtmlTable(
        title="Cables",
        caption="By the tiers they join; lengths follow the racks of the machine room.",
        headings=CABLES,
        rows=cable_rows(sizing),
        notes=("Any number down to its constants: netloom size --why FIELD.",),
    )


def _bill(sizing: Sizing) -> HtmlTable:
    rows, sources = bill_rows(sizing)
    cited = tuple(
        Item(tag=str(number), text=f"{source.citation} ({source.confidence})")
        for number, source in enumerate(sources, start=1)
    )
    return HtmlTable(
        title="Bill of materials",
        caption="Cables of all lengths are one row; sources are numbered as below.",
        headings=BILL,
        rows=rows,
        folds=(Fold(summary=f"{len(cited)} sources of prices", items=cited),) if cited else (),
    )


def _alternatives(sizing: Sizing) -> HtmlTable | None:
    headings, rows = alternative_rows(sizing)
    if not rows:
        return None
    return HtmlTable(
        title="Alternatives",
        caption="What else could be built for the same GPUs.",
        headings=headings,
        rows=rows,
    )


def _figures(sizing: Sizing) -> tuple[Figure, ...]:
    """Return where the money goes; nothing where no part has a price."""
    spent: dict[str, float] = {}
    for line in sizing.bill.lines:
        if line.total_usd and line.kind != "nic":
            item = line.item.partition(", ")[0]
            spent[item] = spent.get(item, 0.0) + line.total_usd
    if not spent:
        return ()
    chart = Bars(
        axis=ChartAxis(title="cost", unit=MONEY, from_zero=True),
        rows="item",
        labels=tuple(spent),
        parts=(BarPart(name="", values=tuple(spent.values())),),
    )
    caption = "The network's parts, by kind; NICs are in the price of the nodes."
    return (Figure(key="cost", title="What it costs", caption=caption, chart=chart),)
