"""Chips ranked for a job, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.units import POWER, SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from netloom.study.compare.chips.entry import ChipArchitecture, FigureRange
    from netloom.study.compare.chips.ranked import RankedChip
    from netloom.study.compare.chips.ranking import ChipComparison

__all__ = ["CHIP_COLUMNS", "chips_text", "figure_words", "headline", "reach"]

_KINDS = {"packets": "", "stand-in": " ~", "closed form": " =", "catalogue": ""}
MARKS = "~ run by mechanisms that come near it; = a formula, packets show no difference"


def reach(one: RankedChip) -> str:
    """Return up to how many GPUs it keeps 90 % of its efficiency."""
    scaling = one.candidate.scaling
    if scaling.limit_gpus is None:
        return "-"
    more = {"range": ">", "efficiency": ""}.get(scaling.limit_reason, "all ")
    return f"{more}{scaling.limit_gpus:,}"


def _money(one: RankedChip) -> str:
    low, high = one.candidate.bill.capex_range_usd
    own = f"{one.candidate.network_capex_usd / 1e6:.1f}"
    return own if high < 1.01 * low else f"{low / 1e6:.1f}-{high / 1e6:.1f}"


def _power(one: RankedChip) -> str:
    low, high = (format_quantity(watts, POWER) for watts in one.power_range_w)
    return low if low == high else f"{low}-{high}"


def _step(one: RankedChip) -> str:
    return format_quantity(one.step_s, TIME)


ChipColumns = tuple[tuple[str, "Callable[[RankedChip], str]"], ...]
FIRST_HALF = 6  # columns of the first table on a narrow terminal

CHIP_COLUMNS: ChipColumns = (
    ("chip", lambda one: one.name + _KINDS[one.architecture.fidelity]),
    ("step", _step),
    ("tail p99", lambda one: format_quantity(one.tail_s, TIME)),
    ("paths", lambda one: f"{one.runs.path_share:.0%}"),
    ("innocent", lambda one: f"{one.runs.victim_slowdown:.1f}x"),
    ("buffer", lambda one: format_quantity(one.buffer.needed_bytes, SIZE)),
    ("net power", _power),
    ("net MUSD", _money),
    ("90% to GPUs", reach),
    ("what limits it", lambda one: one.limit),
)


def headline(found: ChipComparison) -> str:
    """Return the answer in a sentence or two."""
    best, base = found.best, found.baseline
    said = f"{best.name} is first: a step of {_step(best)}"
    if base is None or base is best:
        return said + "."
    gain = 1 - best.step_s / base.step_s
    tail = base.tail_s / best.tail_s
    return (
        f"{said}, {gain:.1%} less than RoCEv2 as deployed ({_step(base)}), and a tail "
        f"{tail:.2g} times shorter."
    )


def chips_text(found: ChipComparison) -> RenderableType:
    """Return what ``netloom compare --chips`` prints."""
    parts: list[RenderableType] = [
        Text(found.title, style="bold"),
        Text(found.subtitle, style="dim"),
        "",
        _ChipTables(found),
        Text(MARKS, style="dim"),
        *(Text(f"{one.chip}: left out: {one.reason}", style="yellow") for one in found.refused),
        "",
        Text(headline(found), style="green"),
        Text(
            "Ranked by step in classes of 1 %, then by tail. paths: slowest flow of a permutation "
            "alone over in company; innocent: a flow beside an incast over its time alone.",
            style="dim",
        ),
    ]
    if found.catalogued:
        parts += ["", Text("In the catalogue alone", style="bold")]
        parts += [_figures(one) for one in found.catalogued]
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _ChipTables:
    """One table; on a narrow terminal its columns stand in two, one below the other."""

    found: ChipComparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = _table(self.found, CHIP_COLUMNS)
        if console.measure(whole, options=options.update(width=1000)).maximum <= options.max_width:
            yield whole
            return
        yield _table(self.found, CHIP_COLUMNS[:FIRST_HALF])
        yield ""
        yield _table(self.found, (CHIP_COLUMNS[0], *CHIP_COLUMNS[FIRST_HALF:]))


def _table(found: ChipComparison, columns: ChipColumns) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    for name, _ in columns:
        words = name in {CHIP_COLUMNS[0][0], CHIP_COLUMNS[-1][0]}
        wraps = name == CHIP_COLUMNS[-1][0]
        table.add_column(name, justify="left" if words else "right", no_wrap=not wraps)
    for one in found.ranked:
        style = "green" if one is found.best else "bold" if one is found.baseline else ""
        table.add_row(*(show(one) for _, show in columns), style=style)
    return table


def figure_words(figure: FigureRange) -> str:
    """Return a figure with its range: ``power_w_per_800g 6 to 16 W``."""
    ends = f"{figure.low:g}"
    if figure.high != figure.low:
        ends += f" to {figure.high:g}"
    return f"{figure.name} {ends} {figure.unit}".rstrip()


def _figures(one: ChipArchitecture) -> RenderableType:
    figures = "; ".join(figure_words(figure) for figure in one.figures)
    return Padding(Text(f"- {one.title}: {figures}"), (0, 0, 0, 2))
