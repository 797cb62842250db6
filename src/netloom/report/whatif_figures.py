"""The figures of a what-if, as plotly.js objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names
from netloom.report.figures import COLOURS, Figure, new_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.flow.contention import Press
    from netloom.fabric.graph import Fabric
    from netloom.study.whatif import Run
    from netloom.study.whatif_rank import Ranking

__all__ = ["blast", "link_map", "where_it_goes"]

MAX_LINKS: Final = 4000
MAX_BARS: Final = 40


def link_map(fabric: Fabric, runs: Sequence[tuple[str, Run]]) -> Figure:
    """Return every link between switches as a square, a row for each pair of tiers and run.

    The colour is what the link carries over what it can, in the collective that fills it most.
    """
    names = np.array(vertex_names(fabric))
    kind = np.array([name.partition(":")[0] for name in names])
    switch = fabric.vertex_kind == VertexKind.SWITCH
    between = np.flatnonzero(switch[fabric.link_source] & switch[fabric.link_target])
    ends = np.stack([fabric.link_source[between], fabric.link_target[between]])
    rows = np.char.add(np.char.add(kind[ends[0]], " to "), kind[ends[1]])
    tiers = list(dict.fromkeys(rows.tolist()))
    most = MAX_LINKS // max(1, len(tiers) * len(runs))
    x: list[float] = []
    y: list[str] = []
    colour: list[float] = []
    text: list[str] = []
    for tier in tiers:
        mine = np.flatnonzero(rows == tier)
        keep = mine[np.unique(np.linspace(0, len(mine) - 1, most).astype(np.int64))]
        for label, run in runs:
            used = peak_use(run.presses, fabric.num_links)[between[keep]]
            x += (np.arange(len(keep)) / max(len(keep) - 1, 1) * 100).tolist()
            y += [f"{tier}, {label}" if label else tier] * len(keep)
            colour += (100 * used).round(2).tolist()
            text += [f"{names[a]} to {names[b]}" for a, b in ends[:, keep].T.tolist()]
    layout = new_layout("links of the tier in their order, %", "")
    layout["yaxis"] |= {"automargin": True, "autorange": "reversed"}
    return {"data": [_squares(x, y, colour, text)], "layout": layout}


def peak_use(presses: Sequence[Press], num_links: int) -> NDArray[np.float64]:
    """Return of each link the largest share that any collective makes it carry."""
    used = np.zeros(num_links)
    for press in presses:
        used = np.maximum(used, press.share / press.slowdown)
    return used


def _squares(x: list[float], y: list[str], colour: list[float], text: list[str]) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "text": text,
        "marker": {
            "symbol": "square",
            "size": 11,
            "color": colour,
            "cmin": 0,
            "cmax": 100,
            "colorscale": "YlOrRd",
            "reversescale": True,
            "colorbar": {"title": {"text": "%"}, "thickness": 12},
        },
        "hovertemplate": "%{text}: %{marker.color:.1f} %<extra></extra>",
    }


def where_it_goes(runs: Sequence[tuple[str, Run]]) -> Figure:
    """Return the seconds of a step by what they are spent on, a bar a run."""
    spent = [run.step.breakdown_s() | {"slow GPU": run.straggler_s} for _, run in runs]
    parts = [part for part in spent[0] if any(one[part] > 0 for one in spent)]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part.replace("_", " "),
            "y": [label for label, _ in runs],
            "x": [float(one[part]) for one in spent],
            "marker": {"color": COLOURS[number % len(COLOURS)]},
            "hovertemplate": "%{x:.4f} s<extra>" + part.replace("_", " ") + "</extra>",
        }
        for number, part in enumerate(parts)
    ]
    layout = new_layout("seconds of a step", "")
    layout |= {"barmode": "stack"}
    layout["legend"] |= {"traceorder": "normal"}
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    return {"data": traces, "layout": layout}


def blast(found: Ranking) -> Figure:
    """Return the speed lost to each part, the worst first."""
    rows = found.rows[:MAX_BARS]
    stops = [row.effect.step_s is None for row in rows]
    labels = [
        f"{row.parts[0]} and {len(row.parts) - 1:,} alike" if len(row.parts) > 1 else row.parts[0]
        for row in rows
    ]
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": labels,
        "x": [100 * row.lost_share for row in rows],
        "text": [
            "the job stops" if stop else f"{100 * row.lost_share:.2f} %"
            for row, stop in zip(rows, stops, strict=True)
        ],
        "textposition": "auto",
        "marker": {"color": [COLOURS[1] if stop else COLOURS[0] for stop in stops]},
        "hovertemplate": "%{y}: %{x:.2f} %<extra></extra>",
    }
    layout = new_layout("speed lost, %", "")
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    layout["showlegend"] = False
    return {"data": [trace], "layout": layout}
