"""A search for a placement, as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.whatif.place import Search

__all__ = ["HEADINGS", "candidate_rows", "headline", "placement_text", "ranges", "title"]

HEADINGS: Final = ("placement", "step", "over the bound")


def placement_text(found: Search) -> RenderableType:
    """Return what ``netloom place`` prints."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if number else "left")
    for row in candidate_rows(found):
        table.add_row(*row)
    return Group(
        Text(title(found)),
        Text(headline(found), style="green"),
        "",
        table,
        "",
        Text(f"nodes, in the order of the job's places: {ranges(found.best.nodes)}"),
    )


def title(found: Search) -> str:
    """Return what was searched."""
    return (
        f"{len(found.best.nodes):,} of {found.num_free:,} free nodes, "
        f"{found.network.technology.name}; {found.num_tried:,} placements tried"
    )


def headline(found: Search) -> str:
    """Return the best, and how far it may be from the best possible."""
    best = found.best
    end = (
        "no placement is better"
        if found.proven
        else f"at most {best.step_s / found.bound_s - 1:.2%} from the best possible"
    )
    return f"step {format_quantity(best.step_s, TIME, digits=4)} ({best.how}); {end}"


def candidate_rows(found: Search) -> list[tuple[str, ...]]:
    """Return a row a placement."""
    return [
        (
            one.how,
            format_quantity(one.step_s, TIME, digits=4),
            f"{one.step_s / found.bound_s - 1:.2%}",
        )
        for one in found.candidates
    ]


def ranges(nodes: Sequence[int]) -> str:
    """Return numbers with those that follow one another as ranges: ``0-3, 7, 5``."""
    runs = groupby(enumerate(nodes), key=lambda pair: pair[1] - pair[0])
    parts = []
    for _, run in runs:
        numbers = [node for _, node in run]
        parts.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    return ", ".join(parts)
