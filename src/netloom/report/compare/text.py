"""A comparison as text: the table, the recommendation, the doubts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.report.predict import span
from netloom.units import POWER, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from netloom.study.compare.candidate import Candidate
    from netloom.study.compare.comparison import Comparison

__all__ = ["columns_of", "comparison_text"]


Column = tuple[str, "Callable[[Candidate], str]"]
Columns = tuple[Column, ...]

MILLION = 1e6


def _limit(contender: Candidate) -> str:
    scaling = contender.scaling
    if scaling.limit_gpus is None:
        return "-"
    more = {"range": ">", "efficiency": ""}.get(scaling.limit_reason, "all ")
    return f"{more}{scaling.limit_gpus:,}"


# All features are in the report and in the JSON.
OPERATIONS = ("load_balancing", "failover", "vendors")

PACE: Columns = (
    ("technology", lambda c: c.name + ("" if c.validity.inside else " *")),
    ("latency", lambda c: format_quantity(c.latency_s, TIME)),
    ("step", lambda c: format_quantity(c.step.duration_s, TIME)),
    ("interval", lambda c: span(c.step, joint="-")),
    ("comm.", lambda c: f"{c.step.communication_share:.1%}"),
    ("exposed", lambda c: f"{c.step.exposed_share:.1%}"),
    ("MFU", lambda c: f"{c.step.mfu:.1%}"),
    ("tokens/s", lambda c: f"{c.step.tokens_per_s:,.0f}"),
    ("days/Ttok", lambda c: f"{c.days_per_trillion_tokens:.1f}"),
)
UPKEEP: Columns = (
    ("net power", lambda c: format_quantity(c.network_power_w, POWER)),
    ("goodput", lambda c: f"{c.goodput.share:.1%}"),
    ("90% to GPUs", _limit),
)


def columns_of(contenders: Sequence[Candidate]) -> Columns:
    """Return the columns of the table; money in thousands where millions would hide it."""
    return (*PACE, _token_column(contenders), _network_column(contenders), *UPKEEP)


def _token_column(contenders: Sequence[Candidate]) -> Column:
    if min(one.usd_per_trillion_tokens for one in contenders) < MILLION:
        return "kUSD/Ttok", lambda c: f"{c.usd_per_trillion_tokens / 1e3:,.1f}"
    return "MUSD/Ttok", lambda c: f"{c.usd_per_trillion_tokens / 1e6:.2f}"


def _network_column(contenders: Sequence[Candidate]) -> Column:
    if min(one.network_capex_usd for one in contenders) < 10 * MILLION:
        return "net kUSD", lambda c: f"{c.network_capex_usd / 1e3:,.1f}"
    return "net MUSD", lambda c: f"{c.network_capex_usd / 1e6:.1f}"


def comparison_text(comparison: Comparison) -> RenderableType:
    """Return what ``netloom compare`` prints."""
    parts: list[RenderableType] = [
        Text(comparison.title, style="bold"),
        Text(comparison.subtitle, style="dim"),
        "",
        _Tables(comparison),
        *_footnotes(comparison),
        "",
        _operations(comparison),
        "",
        Text.assemble("Recommendation: ", (comparison.recommendation.technology, "bold green")),
        *_bullets(comparison.recommendation.reasons),
    ]
    if comparison.recommendation.doubts:
        parts += [Text("Doubts:", style="bold"), *_bullets(comparison.recommendation.doubts)]
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Tables:
    """One table; on a narrow terminal its columns stand in several, one below the other."""

    comparison: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for index, table in enumerate(self._fitting(console, options)):
            yield from ("", table) if index else (table,)

    def _fitting(self, console: Console, options: ConsoleOptions) -> list[Table]:
        """Return as few tables as fit; one a column where not even these do."""
        first, *others = columns_of(self.comparison.contenders)
        ample = options.update(width=1000)
        tables: list[Table] = []
        for count in range(1, len(others) + 1):
            tables = [_table(self.comparison, (first, *part)) for part in _parts(others, count)]
            if all(console.measure(t, options=ample).maximum <= options.max_width for t in tables):
                break
        return tables


def _parts(columns: Sequence[Column], count: int) -> list[Sequence[Column]]:
    """Return *columns* in *count* runs of about equal length."""
    ends = [len(columns) * part // count for part in range(count + 1)]
    return [columns[begin:end] for begin, end in pairwise(ends)]


def _table(comparison: Comparison, columns: Columns) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    for index, (heading, _) in enumerate(columns):
        table.add_column(heading, justify="right" if index else "left", no_wrap=True)
    for contender in comparison.contenders:
        best = contender.name == comparison.recommendation.technology
        shown = (show(contender) for _, show in columns)
        table.add_row(*shown, style="green" if best else "")
    return table


def _operations(comparison: Comparison) -> Table:
    """Return what each control plane offers, the features that decide who can run it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("operations", no_wrap=True)
    for feature in OPERATIONS:
        table.add_column(feature.replace("_", " "), ratio=1)
    for contender in comparison.contenders:
        offered = contender.technology.operations
        table.add_row(contender.name, *(offered.get(feature, "") for feature in OPERATIONS))
    return table


def _footnotes(comparison: Comparison) -> list[RenderableType]:
    notes: list[RenderableType] = [
        Text(f"{refusal.technology}: left out: {refusal.reason}", style="yellow")
        for refusal in comparison.refused
    ]
    notes += [Text(note, style="yellow") for note in comparison.notes]
    told = comparison.recommendation.doubts
    doubts = dict.fromkeys(d for c in comparison.contenders for d in c.validity.doubts)
    if doubts:
        see = " (see the doubts below)" if told else ""
        notes.append(Text(f"* outside the range checked against measurements{see}", style="dim"))
        notes += _bullets(tuple(doubt for doubt in doubts if doubt not in told), style="dim")
    return notes


def _bullets(sentences: tuple[str, ...], *, style: str = "") -> list[RenderableType]:
    return [Padding(Text(f"- {sentence}", style=style), (0, 0, 0, 2)) for sentence in sentences]
