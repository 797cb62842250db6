"""The collectives of execution traces as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.units import SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.study.trace.table import TraceRow, TraceTable

__all__ = ["trace_text"]

_MAX_SHOWN = 40
_HEADINGS = ("collective", "size", "ranks", "nodes", "count", "once", "all")


def trace_text(found: TraceTable) -> RenderableType:
    """Return what ``netloom trace read`` prints."""
    title = (
        f"{found.num_read:,} traces of {found.num_ranks:,} ranks, predicted on "
        f"{found.network.node.name}, {found.network.technology.name}"
    )
    busiest = f"computation of the busiest rank {format_quantity(found.compute_s, TIME, digits=4)}"
    parts: list[RenderableType] = [Text(title, style="bold"), Text(busiest), "", _rows(found)]
    remarks = list(found.notes)
    if len(found.rows) > _MAX_SHOWN:
        remarks.append(f"{len(found.rows) - _MAX_SHOWN:,} more rows with --json")
    remarks += [f"outside the range checked: {doubt}" for doubt in found.validity.doubts]
    if remarks:
        parts += ["", *(Padding(Text(f"- {r}", style="dim"), (0, 0, 0, 2)) for r in remarks)]
    return Group(*parts)


def _rows(found: TraceTable) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "collective" else "right")
    for row in found.rows[:_MAX_SHOWN]:
        table.add_row(*_cells(row))
    return table


def _cells(row: TraceRow) -> tuple[str, ...]:
    group = row.collective.group
    return (
        row.collective.kind.value,
        format_quantity(row.collective.size_bytes, SIZE),
        f"{group.size:,}",
        f"{group.num_nodes:,}",
        f"{row.count:,}",
        format_quantity(row.outcome.duration_s, TIME),
        format_quantity(row.total_s, TIME),
    )
