"""One self-contained HTML page for several jobs on one fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.compare.figures import COLOURS, DASHES, Figure, new_layout
from netloom.report.html import render
from netloom.report.whatif.share import HEADINGS, sharing_cells, sharing_headline

if TYPE_CHECKING:
    from netloom.study.whatif.share import Sharing

__all__ = ["sharing_page"]


def sharing_page(found: Sharing) -> str:
    """Return the page as one string of HTML."""
    return render(
        "whatif.html.j2",
        plots={"time": timeline(found), "slow": slowdowns(found)},
        title=found.scenario.name or "jobs that share a fabric",
        asked="; ".join(
            f"{lot.name}: {len(lot.nodes):,} nodes from {lot.arrival_s:g} s" for lot in found.lots
        ),
        headline=sharing_headline(found),
        seeds="",
        cards=[
            (
                "time",
                "Timeline",
                (
                    "Step time over that alone, while the same jobs run; the last time is drawn a "
                    "tenth longer where a job never ends."
                ),
            ),
            (
                "slow",
                "Slowdown",
                (
                    "In the mean over the phases of the others, and when they always send what "
                    "hurts most."
                ),
            ),
        ],
        table_title="Jobs",
        headings=HEADINGS,
        rows=[sharing_cells(lot) for lot in found.lots],
        doubts=found.validity.doubts,
    )


def timeline(found: Sharing) -> Figure:
    """Return the slowdown of each job over time, a line each."""
    last_s = max((span.end_s or span.start_s for span in found.spans), default=0.0)
    traces = []
    for number, lot in enumerate(found.lots):
        x: list[float] = []
        y: list[float] = []
        for span in found.spans:
            if number in span.steps_s:
                end_s = span.end_s if span.end_s is not None else max(1.1 * last_s, 1.0)
                x += [span.start_s, end_s]
                y += [span.steps_s[number] / lot.alone_s] * 2
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": lot.name,
                "x": x,
                "y": y,
                # Lines of jobs that are slowed alike lie on one another.
                "line": {
                    "color": COLOURS[number % len(COLOURS)],
                    "dash": DASHES[number % len(DASHES)],
                    "width": 3,
                },
                "hovertemplate": "%{x:.4g} s: %{y:.3f}<extra>%{fullData.name}</extra>",
            }
        )
    layout = new_layout("seconds", "step time over that alone")
    layout["showlegend"] = True
    return {"data": traces, "layout": layout}


def slowdowns(found: Sharing) -> Figure:
    """Return the mean and the worst slowdown, a pair of bars a job."""
    names = [lot.name for lot in found.lots]
    values = (
        ("shared", [lot.slowdown for lot in found.lots]),
        ("at worst", [lot.worst_s / lot.alone_s for lot in found.lots]),
    )
    traces = [
        {
            "type": "bar",
            "name": label,
            "x": names,
            "y": value,
            "marker": {"color": COLOURS[number]},
            "hovertemplate": "%{y:.3f}<extra>" + label + "</extra>",
        }
        for number, (label, value) in enumerate(values)
    ]
    return {"data": traces, "layout": new_layout("", "step time over that alone")}
