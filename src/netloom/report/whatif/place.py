"""A search for a placement, as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.whatif.place import Search

__all__ = ["placement_text", "ranges"]


def placement_text(found: Search) -> RenderableType:
    """Return what ``netloom place`` prints."""
    best = found.best
    end = (
        "no placement is better"
        if found.proven
        else f"at most {best.step_s / found.bound_s - 1:.2%} from the best possible"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("placement")
    table.add_column("step", justify="right")
    table.add_column("over the bound", justify="right")
    for one in found.candidates:
        over = f"{one.step_s / found.bound_s - 1:.2%}"
        table.add_row(one.how, format_quantity(one.step_s, TIME, digits=4), over)
    return Group(
        Text(
            f"{len(best.nodes):,} of {found.num_free:,} free nodes, "
            f"{found.network.technology.name}; {found.num_tried:,} placements tried"
        ),
        Text(
            f"step {format_quantity(best.step_s, TIME, digits=4)} ({best.how}); {end}",
            style="green",
        ),
        "",
        table,
        "",
        Text(f"nodes, in the order of the job's places: {ranges(best.nodes)}"),
    )


def ranges(nodes: Sequence[int]) -> str:
    """Return numbers with those that follow one another as ranges: ``0-3, 7, 5``."""
    runs = groupby(enumerate(nodes), key=lambda pair: pair[1] - pair[0])
    parts = []
    for _, run in runs:
        numbers = [node for _, node in run]
        parts.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    return ", ".join(parts)
