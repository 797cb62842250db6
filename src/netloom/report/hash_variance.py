"""Step times over draws of the hash, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.predict.hash_variance import HashVariance

__all__ = ["HEADINGS", "luck_cells", "with_luck"]

HEADINGS: Final = ("technology", "mean", "95 % sure of the mean", "p5", "p50", "p95")


def with_luck(said: RenderableType, found: Sequence[HashVariance]) -> RenderableType:
    """Return *said*, and below it the draws where any were made."""
    return Group(said, "", _luck_table(found)) if found else said


def _luck_table(found: Sequence[HashVariance]) -> Table:
    """Return mean with its interval and the spread, a row a technology."""
    count = len(found[0].seeds)
    table = Table(
        title=f"step over {count:,} draws of the hash",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    table.add_column(HEADINGS[0], no_wrap=True)
    for heading in HEADINGS[1:]:
        table.add_column(heading, justify="right")
    for one in found:
        table.add_row(*luck_cells(one))
    return table


def luck_cells(one: HashVariance) -> tuple[str, ...]:
    """Return a technology's row."""
    mean = one.mean
    known = mean.low is not None and mean.high is not None
    span = f"{_time(mean.low)} to {_time(mean.high)}" if known else "one draw"
    quantiles = (_time(one.quantile(share)) for share in (0.05, 0.5, 0.95))
    return (one.technology, _time(mean.mean), span, *quantiles)


def _time(value_s: float | None) -> str:
    return "-" if value_s is None else format_quantity(value_s, TIME, digits=5)
