"""What a figure shows: series over two axes, bars, or squares by their heat.

Values are in base units (seconds, bytes); the axis' unit decides how they are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from netloom.report.charts.units import PERCENT, PLAIN, Unit

__all__ = [
    "GREY",
    "HUES",
    "Band",
    "BarPart",
    "Bars",
    "Block",
    "Cell",
    "Chart",
    "ChartAxis",
    "Figure",
    "Heat",
    "Mark",
    "Plot",
    "Rule",
    "Series",
    "dash_of",
    "mark_of",
]

Mark = Literal["circle", "square", "diamond", "up", "down", "cross", "plus"]
Join = Literal["line", "step", "none"]

HUES: Final = 7  # colours that any colour vision tells apart: templates/page.css
GREY: Final = 6  # the last of them
_MARKS: Final[tuple[Mark, ...]] = ("circle", "square", "diamond", "up", "down", "cross", "plus")


def dash_of(index: int) -> int:
    """Return the dash of the series *index*; where colours begin again, dashes are shifted."""
    return index % HUES + index // HUES


def mark_of(index: int) -> Mark:
    """Return the shape of the series *index*, so that colour is never the only difference."""
    return _MARKS[index % len(_MARKS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartAxis:
    """One axis of a chart.

    Attributes:
        title: What it measures, without the unit.
        unit: How its numbers are written.
        is_log: Logarithmic; what is not above zero is left out.
        is_binary: Where it is logarithmic, ticks are powers of two.
        from_zero: Zero is on it.
        bounds: Its ends, where they are not those of the data.
    """

    title: str
    unit: Unit = PLAIN
    is_log: bool = False
    is_binary: bool = False
    from_zero: bool = False
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points that belong together.

    Attributes:
        name: In the legend; empty for one that needs no name.
        x: Of each point.
        y: Of each point.
        hue: Which colour; its dash follows.
        join: How neighbours are joined; a step goes across first.
        dash: How the line is broken; the hue's own by default.
        mark: The shape at each point, if any.
        hollow: Which marks are open; none by default.
        notes: More to say of each point.
        spread: Half the length of each point's error bar.
        faint: Drawn pale.
        listed: Named in the legend.
        silent: A guide for the eye: neither in the legend nor in tables.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    hue: int = 0
    join: Join = "line"
    dash: int | None = None
    mark: Mark | None = None
    hollow: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()
    spread: tuple[float, ...] = ()
    faint: bool = False
    listed: bool = True
    silent: bool = False

    def note(self, index: int) -> str:
        """Return what there is to say of a point, or nothing."""
        return self.notes[index] if self.notes else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A vertical line across a plot, with a word at its top."""

    x: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The area between *low* and *high*, behind the series; *name* is for the legend."""

    name: str
    x: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    hue: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Series over two axes, bands behind them; *aside* says what is not drawn."""

    x: ChartAxis
    y: ChartAxis
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()
    aside: str = ""
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """A value for each bar: a segment where bars are stacked, a bar of its own where not.

    Attributes:
        name: In the legend.
        values: One a bar.
        hue: Which colour.
        texts: What stands at the end of each bar; its value by default.
        notes: More to say of each.
        spread: Half the length of each error bar.
        warned: Bars in the warning colour.
    """

    name: str
    values: tuple[float | None, ...]
    hue: int = 0
    texts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    spread: tuple[float, ...] = ()
    warned: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Horizontal bars, one or one group for each label, the first at the top.

    *rows* says what a label is, *aside* what is not drawn. *ranges* are the ends of an error bar on
    each stack's total, where it has one.
    """

    axis: ChartAxis
    rows: str
    labels: tuple[str, ...]
    parts: tuple[BarPart, ...]
    stacked: bool = False
    aside: str = ""
    ranges: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A square: how warm in percent, and what it stands for."""

    percent: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Squares that belong together, column by column; *total* counts those not drawn too."""

    label: str
    cells: tuple[Cell, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """Squares coloured from 0 to 100 percent, in blocks."""

    blocks: tuple[Block, ...]
    what: str
    unit: Unit = PERCENT


Chart = Plot | Bars | Heat


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with its place on a page.

    Attributes:
        key: The id of its element; unique on the page.
        title: Above it.
        caption: What a reader must know to read it.
        chart: What to draw.
    """

    key: str
    title: str
    caption: str
    chart: Chart
