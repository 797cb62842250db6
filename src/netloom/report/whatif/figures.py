"""The figures of a what-if, as plotly.js objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names
from netloom.report.compare.figures import COLOURS, Figure, new_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.flow.contention import LinkLoad
    from netloom.fabric.graph import Fabric
    from netloom.study.whatif.failure import DrawnStep
    from netloom.study.whatif.rank import Ranking

__all__ = ["blast", "link_map", "where_it_goes"]

MAX_LINKS: Final = 4000
ROWS: Final = 8  # of squares in a block
HEIGHT_PX: Final = 320  # of a plot without its margins: base.html.j2
MAX_BARS: Final = 40


def link_map(fabric: Fabric, runs: Sequence[tuple[str, DrawnStep]]) -> Figure:
    """Return every link between switches as a square, a block for each pair of tiers and run.

    The colour is what the link carries over what it can, in the collective that fills it most;
    links that carry nothing in any are open. Of very many links evenly spaced ones are drawn.
    """
    names = vertex_names(fabric)
    blocks = _blocks(fabric, names, num_runs=len(runs))
    shown = [
        (f"{kind}, {label}" if label else kind, links, run)
        for kind, links in blocks.items()
        for label, run in runs
    ]
    squares: list[_Square] = []
    for number, (_, links, run) in enumerate(shown):
        share = peak_use(run.presses, fabric.num_links)
        columns = -(-len(links) // ROWS)
        for turn, link in enumerate(links.tolist()):
            x = (turn // ROWS + 0.5) / columns * 100
            y = number * (ROWS + 2) + turn % ROWS
            text = f"{names[fabric.link_source[link]]} to {names[fabric.link_target[link]]}"
            squares.append(_Square(x, y, round(100 * float(share[link]), 2), text))
    layout = new_layout("links of the tier in their order, %", "")
    layout["yaxis"] |= {
        "automargin": True,
        "autorange": "reversed",
        "tickvals": [number * (ROWS + 2) + (ROWS - 1) / 2 for number in range(len(shown))],
        "ticktext": [label for label, _, _ in shown],
        "showgrid": False,
        "zeroline": False,
    }
    layout["showlegend"] = False
    idle = [one for one in squares if one.percent == 0]
    used = [one for one in squares if one.percent > 0]
    size = min(10, HEIGHT_PX // max(1, len(shown) * (ROWS + 2) - 2))
    return {"data": [_grey(idle, size), _squares(used, size)], "layout": layout}


class _Square(NamedTuple):
    x: float
    y: float
    percent: float
    text: str


def _blocks(fabric: Fabric, names: Sequence[str], *, num_runs: int) -> dict[str, NDArray[np.int64]]:
    """Return the links between each pair of tiers, or as many of them as can be drawn."""
    switch = fabric.vertex_kind == VertexKind.SWITCH
    between = np.flatnonzero(switch[fabric.link_source] & switch[fabric.link_target])
    kind = [name.partition(":")[0] for name in names]
    ends = zip(fabric.link_source[between], fabric.link_target[between], strict=True)
    found: dict[str, list[int]] = {}
    for link, (one, other) in zip(between.tolist(), ends, strict=True):
        found.setdefault(f"{kind[one]} to {kind[other]}", []).append(link)
    most = MAX_LINKS // max(1, len(found) * num_runs)
    keep = {name: np.linspace(0, len(links) - 1, most) for name, links in found.items()}
    return {
        name: np.array(links)[np.unique(keep[name].astype(np.int64))]
        for name, links in found.items()
    }


def peak_use(presses: Sequence[LinkLoad], num_links: int) -> NDArray[np.float64]:
    """Return of each link the largest share that any collective makes it carry."""
    used = np.zeros(num_links)
    for press in presses:
        used = np.maximum(used, press.share / press.slowdown)
    return used


def _squares(squares: Sequence[_Square], size: int) -> Figure:
    marker = {
        "symbol": "square",
        "size": size,
        "color": [one.percent for one in squares],
        "cmin": 0,
        "cmax": 100,
        "colorscale": "YlOrRd",
        "reversescale": True,
        "colorbar": {"title": {"text": "%"}, "thickness": 12},
    }
    return _marked(squares, marker, "%{text}: %{marker.color:.1f} %")


def _grey(squares: Sequence[_Square], size: int) -> Figure:
    marker = {"symbol": "square-open", "size": size, "color": "#9ca3af"}
    return _marked(squares, marker, "%{text}: nothing")


def _marked(squares: Sequence[_Square], marker: Figure, hover: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [one.x for one in squares],
        "y": [one.y for one in squares],
        "text": [one.text for one in squares],
        "marker": marker,
        "hovertemplate": hover + "<extra></extra>",
    }


def where_it_goes(runs: Sequence[tuple[str, DrawnStep]]) -> Figure:
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
            "stops" if stop else f"{100 * row.lost_share:.2f} %"
            for row, stop in zip(rows, stops, strict=True)
        ],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [COLOURS[1] if stop else COLOURS[0] for stop in stops]},
        "hovertemplate": "%{y}: %{x:.2f} %<extra></extra>",
    }
    layout = new_layout("speed lost, %", "")
    lost = [100 * row.lost_share for row in rows]
    layout["xaxis"] |= {"range": [min(0.0, *lost), 1.2 * max(1.0, *lost)]}  # room for the text
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    layout["showlegend"] = False
    return {"data": [trace], "layout": layout}
