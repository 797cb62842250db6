"""One renderer: a chart as SVG for wide and for narrow pages, with legend, words and table.

Both pictures are on the page and CSS shows one of them, so that text keeps its size on a telephone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from netloom.report.charts.bars import bars_svg
from netloom.report.charts.heat import heat_html
from netloom.report.charts.model import HUES, Bars, Chart, Heat, Plot
from netloom.report.charts.plot import plot_svg
from netloom.report.charts.svg import figure_svg, mark_svg, texture_of
from netloom.report.charts.twin import Twin, single_point, summary, twin

__all__ = ["Drawn", "draw"]


@dataclass(frozen=True, slots=True)
class _Paper:
    """A size to draw for."""

    style: str
    width: float
    height: float
    num_ticks: int


_PAPERS: Final = (_Paper("wide", 560, 350, 7), _Paper("narrow", 330, 290, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A chart as a page shows it; *html* and the swatches are markup, the rest is text.

    Attributes:
        html: The pictures; empty where words say it all.
        words: What stands in place of a picture of one point.
        legend: A swatch and a name each.
        summary: The text alternative.
        table: The numbers.
        aside: What is not drawn.
        scale: Whether a scale of colours belongs below it.
    """

    html: str
    words: str
    legend: tuple[tuple[str, str], ...]
    summary: str
    table: Twin
    aside: str
    scale: bool


def draw(chart: Chart) -> Drawn:
    """Return *chart* drawn, or said in words where it would be a single dot."""
    words, told = single_point(chart), summary(chart)
    return Drawn(
        html="" if words else _pictures(chart, told),
        words=words or "",
        legend=() if words else _legend(chart),
        summary=told,
        table=twin(chart),
        aside="" if isinstance(chart, Heat) else chart.aside,
        scale=isinstance(chart, Heat) and not words,
    )


def _pictures(chart: Chart, told: str) -> str:
    if isinstance(chart, Heat):
        return heat_html(chart, label=chart.what)
    return "".join(_picture(chart, told, paper) for paper in _PAPERS)


def _picture(chart: Plot | Bars, told: str, paper: _Paper) -> str:
    if isinstance(chart, Bars):
        parts, height = bars_svg(chart, width=paper.width, num_ticks=paper.num_ticks)
    else:
        height = paper.height
        parts = plot_svg(chart, width=paper.width, height=height, num_ticks=paper.num_ticks)
    return figure_svg(parts, width=paper.width, height=height, style=paper.style, label=told)


def _legend(chart: Chart) -> tuple[tuple[str, str], ...]:
    match chart:
        case Plot():
            return _plot_legend(chart)
        case Bars() if len(chart.parts) > 1:
            return tuple((_box(part.hue), part.name) for part in chart.parts)
        case _:
            return ()


def _plot_legend(plot: Plot) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for one in plot.series:
        if one.silent or not (one.listed and one.name and one.x):
            continue
        dash = one.hue if one.dash is None else one.dash
        hollow = bool(one.hollow) and all(one.hollow)
        mark = "" if one.mark is None else mark_svg(one.mark, 14, 6, hollow=hollow)
        path = "" if one.join == "none" else '<path class="l" d="M1 6H27"/>'
        swatch = f'<g class="c{one.hue} d{dash % HUES}">{path}{mark}</g>'
        found[one.name] = f'<svg class="swatch" viewBox="0 0 28 12">{swatch}</svg>'
    for band in plot.bands:
        area = f'<rect class="band c{band.hue}" x="1" width="26" height="12"/>'
        found[band.name] = f'<svg class="swatch" viewBox="0 0 28 12">{area}</svg>'
    return tuple((swatch, name) for name, swatch in found.items())


def _box(hue: int) -> str:
    fill = f'<rect class="f c{hue % HUES}" x="7" width="13" height="12"/>'
    texture = texture_of(hue)
    over = f'<rect class="p" fill="url(#{texture})" x="7" width="13" height="12"/>'
    return f'<svg class="swatch" viewBox="0 0 28 12">{fill}{over if texture else ""}</svg>'
