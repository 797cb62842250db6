"""Step times over draws of the hash, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.predict.hash_variance import HashVariance

__all__ = ["luck_table"]


def luck_table(found: Sequence[HashVariance]) -> Table:
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
    table.add_column("technology", no_wrap=True)
    for heading in ("mean", "95 % sure of the mean", "p5", "p50", "p95"):
        table.add_column(heading, justify="right")
    for one in found:
        mean = one.mean
        known = mean.low is not None and mean.high is not None
        span = f"{_time(mean.low)} to {_time(mean.high)}" if known else "one draw"
        quantiles = (_time(one.quantile(share)) for share in (0.05, 0.5, 0.95))
        table.add_row(one.technology, _time(mean.mean), span, *quantiles)
    return table


def _time(value_s: float | None) -> str:
    return "-" if value_s is None else format_quantity(value_s, TIME, digits=5)
