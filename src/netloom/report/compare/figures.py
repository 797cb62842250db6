"""The figures of a comparison, as plotly.js objects.

A figure is the JSON that ``Plotly.newPlot`` takes; see docs/decisions/0003.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.compare.candidate import Candidate

__all__ = [
    "cost_against_speed",
    "latency_budget",
    "new_layout",
    "scaling",
    "where_the_step_goes",
]

Figure = dict[str, Any]

# Okabe and Ito (2008): distinguishable with any colour vision.
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7F7F7F",
    "#8C564B",
    "#BCBD22",
    "#17BECF",
    "#4B5563",
    "#A6761D",
    "#B3B3B3",
)
# A technology this many times slower or dearer than the best is named beside the plot of cost
# against speed: on one scale with it, all others would be one spot.
FAR = 2.0
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def scaling(contenders: Sequence[Candidate]) -> Figure:
    """Return model FLOP utilisation over the number of GPUs, a line a technology."""
    traces = [
        _mfu_line(contender, index, whole=whole)
        for whole in (False, True)
        for index, contender in enumerate(contenders)
    ]
    here = contenders[0].network.design.num_gpus
    layout = new_layout("GPUs", "MFU, %")
    layout["xaxis"] |= {"type": "log", "dtick": 1}
    layout["yaxis"] |= {"rangemode": "tozero"}
    layout["shapes"] = [_vertical(here)]
    layout["annotations"] = [_label(here, "this cluster")]
    return {"data": traces, "layout": layout}


def _mfu_line(contender: Candidate, index: int, *, whole: bool) -> Figure:
    """Return the part of a curve on which the whole model runs, or the faint part before it."""
    points = [point for point in contender.scaling.points if point.whole is whole]
    note = "" if whole else " (cut model)"
    return {
        "type": "scatter",
        "mode": "lines+markers" if whole else "markers",
        "name": contender.name,
        "showlegend": whole,
        "opacity": 1 if whole else 0.35,
        "x": [point.num_gpus for point in points],
        "y": [100 * point.mfu for point in points],
        "line": {"color": _colour(index), "dash": DASHES[index % len(DASHES)], "width": 2},
        "marker": {"size": 5, "symbol": "circle" if whole else "circle-open"},
        "hovertemplate": "%{x:,} GPUs: %{y:.1f} %" + f"<extra>{contender.name}{note}</extra>",
    }


def where_the_step_goes(contenders: Sequence[Candidate]) -> Figure:
    """Return the seconds of a step by what they are spent on, a bar a technology."""
    names = [contender.name for contender in contenders]
    breakdowns = [contender.step.breakdown_s() for contender in contenders]
    parts = [part for part in breakdowns[0] if any(b[part] > 0 for b in breakdowns)]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part.replace("_", " "),
            "y": names,
            "x": [breakdown[part] for breakdown in breakdowns],
            "marker": {"color": _colour(index)},
            "hovertemplate": "%{x:.3f} s<extra>" + part.replace("_", " ") + "</extra>",
        }
        for index, part in enumerate(parts)
    ]
    layout = new_layout("seconds of a step", "")
    layout |= {"barmode": "stack"}
    layout["legend"] |= {"traceorder": "normal"}
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    return {"data": traces, "layout": layout}


def cost_against_speed(contenders: Sequence[Candidate]) -> Figure:
    """Return money per trillion tokens over days per trillion tokens, a point a technology."""
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": contender.name,
            "x": [contender.days_per_trillion_tokens],
            "y": [contender.usd_per_trillion_tokens / 1e6],
            "marker": {
                "color": _colour(index),
                "size": 14,
                "symbol": "circle" if contender.technology.status == "shipping" else "circle-open",
                "line": {"width": 2},
            },
            "hovertemplate": "%{x:.1f} days, %{y:.2f} million USD<extra>%{fullData.name}</extra>",
        }
        for index, contender in enumerate(contenders)
    ]
    layout = new_layout("days per trillion tokens", "million USD per trillion tokens")
    layout["xaxis"] |= {"type": "log", "nticks": 8}
    layout["yaxis"] |= {"type": "log", "nticks": 6}
    far = _far(contenders)
    if far:
        near = [contender for contender in contenders if contender not in far]
        layout["xaxis"]["range"] = _around([c.days_per_trillion_tokens for c in near])
        layout["yaxis"]["range"] = _around([c.usd_per_trillion_tokens / 1e6 for c in near])
        layout["annotations"] = [_beside(far)]
    return {"data": traces, "layout": layout}


def _far(contenders: Sequence[Candidate]) -> list[Candidate]:
    """Return those that would crowd all others, of which there are two or more, into a corner."""
    days = min(contender.days_per_trillion_tokens for contender in contenders)
    usd = min(contender.usd_per_trillion_tokens for contender in contenders)
    far = [
        contender
        for contender in contenders
        if contender.days_per_trillion_tokens > FAR * days
        or contender.usd_per_trillion_tokens > FAR * usd
    ]
    return far if len(contenders) - len(far) > 1 else []


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of a logarithmic axis that holds *values* with some room."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = 0.1 * (high - low) + 0.005
    return low - room, high + room


def _beside(far: Sequence[Candidate]) -> Figure:
    """Return the note that names what lies outside the plot."""
    told = (
        f"{contender.name}: {contender.days_per_trillion_tokens:.1f} days, "
        f"{contender.usd_per_trillion_tokens / 1e6:.2f} million USD"
        for contender in far
    )
    return {
        "x": 1,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "text": "<br>".join(("not drawn:", *told)),
        "align": "right",
        "showarrow": False,
        "xanchor": "right",
        "yanchor": "top",
        "font": {"color": "#6b7280", "size": 12},
    }


def latency_budget(contenders: Sequence[Candidate]) -> Figure:
    """Return the one-way latency by component, a bar a technology."""
    names = [contender.name for contender in contenders]
    parts = list(dict.fromkeys(part.name for c in contenders for part in c.latency))
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part,
            "y": names,
            "x": [
                1e6 * sum(item.time_s for item in contender.latency if item.name == part)
                for contender in contenders
            ],
            "marker": {"color": _colour(index)},
            "hovertemplate": "%{x:.2f} us<extra>" + part + "</extra>",
        }
        for index, part in enumerate(parts)
    ]
    layout = new_layout("microseconds, one way", "")
    layout |= {"barmode": "stack"}
    # A dozen entries: small enough for two columns, and clear of the axis of what is left.
    layout["legend"] |= {"traceorder": "normal", "font": {"size": 10}, "y": -0.4}
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    return {"data": traces, "layout": layout}


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def new_layout(x_title: str, y_title: str) -> Figure:
    """Return the layout that all figures share."""
    axis = {"gridcolor": "#e5e7eb", "zerolinecolor": "#d1d5db"}
    return {
        "xaxis": {"title": {"text": x_title}, **axis},
        "yaxis": {"title": {"text": y_title}, **axis},
        "margin": {"l": 64, "r": 16, "t": 24, "b": 48},
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#1f2937"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": -0.28, "yanchor": "top", "font": {"size": 12}},
        "hovermode": "closest",
    }


def _vertical(x: float) -> Figure:
    line = {"color": "#6b7280", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _label(x: float, text: str) -> Figure:
    return {
        "x": math.log10(x),
        "y": 1,
        "yref": "paper",
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "font": {"color": "#6b7280", "size": 12},
    }
