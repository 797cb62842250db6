"""What ``netloom span`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.report.span.rows import TABLES, headline, needed, title
from netloom.study.span.spanning import DEFINITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.span.spanning import Spanning

__all__ = ["span_text"]


def span_text(found: Spanning) -> RenderableType:
    """Return the answer, then every table."""
    parts: list[RenderableType] = [
        Text(title(found), style="bold"),
        Text(found.pipeline_warning, style="yellow"),
        Text(headline(found), style="green"),
        Text(DEFINITION, style="dim"),
        Text(needed(found)),
        Text(found.flip),
        Text(f"Goodput {found.goodput:.1%}, failures of sites and spans included."),
    ]
    for heading, _, headings, rows in TABLES:
        shown = rows(found)
        if shown:
            parts += ["", Text(heading, style="bold"), _table(headings, shown)]
    parts += ["", *(Text(f"- {doubt}", style="dim") for doubt in found.validity.doubts)]
    return Group(*parts)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    return table
