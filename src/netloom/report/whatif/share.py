"""Several jobs on one fabric, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import TIME, format_count, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.study.whatif.share import Lot, Sharing

__all__ = ["HEADINGS", "sharing_cells", "sharing_headline", "sharing_text"]

HEADINGS: Final = (
    "job",
    "nodes",
    "arrives",
    "step alone",
    "step shared",
    "slowdown",
    "at worst",
    "done after",
)


def sharing_text(found: Sharing) -> RenderableType:
    """Return what ``netloom share`` prints."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number == 0 else "right")
    for lot in found.lots:
        table.add_row(*sharing_cells(lot))
    doubts = (Text(f"- {doubt}", style="dim") for doubt in found.validity.doubts)
    return Group(Text(sharing_headline(found), style="bold"), "", table, *doubts)


def sharing_headline(found: Sharing) -> str:
    """Return the answer in one sentence."""
    worst = max(found.lots, key=lambda lot: lot.slowdown)
    where = f"{len(found.lots)} jobs on {format_count(found.network.design.num_gpus, 'GPU')}"
    most = f"{worst.name} is slowed most, {worst.slowdown:.3f} times"
    return f"{where}, {found.network.technology.name}: {most}"


def sharing_cells(lot: Lot) -> tuple[str, ...]:
    """Return a job as text."""
    return (
        lot.name,
        f"{len(lot.nodes):,}",
        _time(lot.arrival_s),
        _time(lot.alone_s),
        _time(lot.step_s),
        f"{lot.slowdown:.3f}",
        f"{lot.worst_s / lot.alone_s:.3f}",
        "never" if lot.finish_s is None else _time(lot.finish_s),
    )


def _time(value_s: float) -> str:
    return format_quantity(value_s, TIME, digits=4)
