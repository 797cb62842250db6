"""One self-contained HTML page for a job over several sites."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netloom.report.charts import PERCENT, PLAIN, ChartAxis, Figure, Plot, Series
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold
from netloom.report.span.rows import TABLES, headline, length, needed, rate, title
from netloom.study.span.spanning import DEFINITION

if TYPE_CHECKING:
    from netloom.study.span.spanning import Spanning

__all__ = ["span_page"]

_WORDS = ("Placements", "Spans", "Repair of losses", "Ends of the spans", "Classes", "Failures")


def span_page(found: Spanning) -> str:
    """Return the page as one string of HTML."""
    tables = [
        HtmlTable(
            title=heading,
            caption=caption,
            headings=headings,
            rows=rows(found),
            is_words=heading in _WORDS,
        )
        for heading, caption, headings, rows in TABLES
        if rows(found)
    ]
    return render(
        Page(
            title=title(found),
            subtitle=DEFINITION,
            answer=AnswerBox(
                headline=headline(found),
                lines=(found.pipeline_warning, needed(found), found.flip),
                notes=(f"Goodput {found.goodput:.1%}, failures of sites and spans included.",),
                folds=doubts_fold(found.validity.doubts),
            ),
            sections=(
                Gallery(figures=(_map(found), _curve(found), _bandwidth(found))),
                *tables,
            ),
        )
    )


def _map(found: Spanning) -> Figure:
    """Return the sites on a circle, with a line for every span: a picture, not to scale."""
    sites = found.scenario.sites
    angles = [2 * math.pi * number / len(sites) + math.pi for number in range(len(sites))]
    at = {
        site.name: (50 + 40 * math.cos(angle), 50 + 40 * math.sin(angle))
        for site, angle in zip(sites, angles, strict=True)
    }
    lines = [
        Series(
            name=f"{one.name}: {length(one.length_m)}, {rate(one.line_bps)}, {one.carrier.name}",
            x=tuple(at[end][0] for end in one.spec.between),
            y=tuple(at[end][1] for end in one.spec.between),
            hue=number % 6,
        )
        for number, one in enumerate(found.spans)
    ]
    marks = [
        Series(
            name=f"{site.name}: {site.nodes:,} nodes",
            x=(at[site.name][0],),
            y=(at[site.name][1],),
            join="none",
            mark="square" if number % 2 else "circle",
            hue=(number + 1) % 6,
        )
        for number, site in enumerate(sites)
    ]
    plain = ChartAxis(title="not to scale", unit=PLAIN, bounds=(0.0, 100.0))
    return Figure(
        key="map",
        title="Sites and spans",
        caption="Each line is a span with its route, rate and carrier; places are not to scale.",
        chart=Plot(x=plain, y=plain, series=(*lines, *marks)),
    )


def _curve(found: Spanning) -> Figure:
    names = dict.fromkeys((point.placement, point.follows_delay) for point in found.curve)
    series = []
    for hue, (kind, ahead) in enumerate(names):
        points = [p for p in found.curve if (p.placement, p.follows_delay) == (kind, ahead)]
        series.append(
            Series(
                name=kind + (", more in flight" if ahead else ""),
                x=tuple(point.length_m / 1e3 for point in points),
                y=tuple(100 * point.efficiency for point in points),
                hue=hue,
            )
        )
    return Figure(
        key="curve",
        title="Efficiency over distance",
        caption="Against one site of the same size, all else as in the scenario.",
        chart=Plot(
            x=ChartAxis(title="route, km", unit=PLAIN, is_log=True),
            y=ChartAxis(title="efficiency", unit=PERCENT, from_zero=True),
            series=tuple(series),
        ),
    )


def _bandwidth(found: Spanning) -> Figure:
    points = [point for point in found.needed if point.rate_bps is not None]
    missing = len(found.needed) - len(points)
    return Figure(
        key="bandwidth",
        title="Bandwidth for less than 5 % loss",
        caption=f"Payload each way, {found.best.placement} across.",
        chart=Plot(
            x=ChartAxis(title="route, km", unit=PLAIN, is_log=True),
            y=ChartAxis(title="Gb/s", unit=PLAIN, from_zero=True),
            series=(
                Series(
                    name="needed",
                    x=tuple(point.length_m / 1e3 for point in points),
                    y=tuple((point.rate_bps or 0.0) / 1e9 for point in points),
                ),
            ),
            aside=f"{missing} distances at which no bandwidth is enough" if missing else "",
        ),
    )
