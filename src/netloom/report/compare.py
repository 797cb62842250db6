"""A comparison as text: the table, the recommendation, the doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.units import POWER, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from netloom.study.compare import Comparison
    from netloom.study.contender import Contender

__all__ = ["cells", "comparison_text", "headings"]


def _limit(contender: Contender) -> str:
    scaling = contender.scaling
    if scaling.limit_gpus is None:
        return "-"
    above = "> " if scaling.limit_reason != "efficiency" else ""
    return f"{above}{scaling.limit_gpus:,}"


COLUMNS: tuple[tuple[str, Callable[[Contender], str]], ...] = (
    ("technology", lambda c: c.name + ("" if c.validity.inside else " *")),
    ("latency", lambda c: format_quantity(c.latency_s, TIME)),
    ("step", lambda c: format_quantity(c.step.duration_s, TIME)),
    ("comm.", lambda c: f"{c.step.communication_share:.1%}"),
    ("exposed", lambda c: f"{c.step.exposed_share:.1%}"),
    ("MFU", lambda c: f"{c.step.mfu:.1%}"),
    ("tokens/s", lambda c: f"{c.step.tokens_per_s:,.0f}"),
    ("days/T tokens", lambda c: f"{c.days_per_trillion_tokens:.1f}"),
    ("MUSD/T tokens", lambda c: f"{c.usd_per_trillion_tokens / 1e6:.2f}"),
    ("network MUSD", lambda c: f"{c.network_capex_usd / 1e6:.1f}"),
    ("network power", lambda c: format_quantity(c.network_power_w, POWER)),
    ("goodput", lambda c: f"{c.goodput.share:.1%}"),
    ("90% up to GPUs", _limit),
)


def headings() -> list[str]:
    """Return the column headings of the table."""
    return [name for name, _ in COLUMNS]


def cells(contender: Contender) -> list[str]:
    """Return one row of the table."""
    return [show(contender) for _, show in COLUMNS]


def comparison_text(comparison: Comparison) -> RenderableType:
    """Return what ``netloom compare`` prints."""
    parts: list[RenderableType] = [
        Text(comparison.title, style="bold"),
        Text(comparison.subtitle, style="dim"),
        "",
        _table(comparison),
        *_footnotes(comparison),
        "",
        Text.assemble("Recommendation: ", (comparison.recommendation.technology, "bold green")),
        *_bullets(comparison.recommendation.reasons),
    ]
    if comparison.recommendation.doubts:
        parts += [Text("Doubts:", style="bold"), *_bullets(comparison.recommendation.doubts)]
    return Group(*parts)


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    for index, heading in enumerate(headings()):
        table.add_column(heading, justify="right" if index else "left", no_wrap=not index)
    for contender in comparison.contenders:
        best = contender.name == comparison.recommendation.technology
        table.add_row(*cells(contender), style="green" if best else "")
    return table


def _footnotes(comparison: Comparison) -> list[RenderableType]:
    notes: list[RenderableType] = [
        Text(f"{refusal.technology}: left out: {refusal.reason}", style="yellow")
        for refusal in comparison.refused
    ]
    doubts = dict.fromkeys(d for c in comparison.contenders for d in c.validity.doubts)
    if doubts:
        notes.append(Text("* outside the range checked against measurements:", style="dim"))
        notes += [Padding(Text(f"- {doubt}", style="dim"), (0, 0, 0, 2)) for doubt in doubts]
    return notes


def _bullets(sentences: tuple[str, ...]) -> list[RenderableType]:
    return [Padding(Text(f"- {sentence}"), (0, 0, 0, 2)) for sentence in sentences]
