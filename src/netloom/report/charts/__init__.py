"""Charts as data, drawn as SVG: what a figure shows, and one renderer for all of them."""

from __future__ import annotations

from netloom.report.charts.draw import Drawn, draw
from netloom.report.charts.model import (
    GREY,
    HUES,
    Band,
    BarPart,
    Bars,
    Block,
    Cell,
    Chart,
    ChartAxis,
    Figure,
    Heat,
    Mark,
    Plot,
    Rule,
    Series,
    dash_of,
    mark_of,
)
from netloom.report.charts.units import (
    BYTES,
    COUNT,
    MONEY,
    PERCENT,
    PLAIN,
    SECONDS,
    Unit,
    UnitStep,
)

__all__ = [
    "BYTES",
    "COUNT",
    "GREY",
    "HUES",
    "MONEY",
    "PERCENT",
    "PLAIN",
    "SECONDS",
    "Band",
    "BarPart",
    "Bars",
    "Block",
    "Cell",
    "Chart",
    "ChartAxis",
    "Drawn",
    "Figure",
    "Heat",
    "Mark",
    "Plot",
    "Rule",
    "Series",
    "Unit",
    "UnitStep",
    "dash_of",
    "draw",
    "mark_of",
]
