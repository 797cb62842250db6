"""The figures of a simulation, as plotly.js objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.report.compare.figures import COLOURS, Figure, new_layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.study.simulate.simulation import Simulation

__all__ = ["fct_cdf", "over_time", "paused_links", "slowdown_by_size", "utilisation_map"]

MAX_POINTS: Final = 500
MAX_LINES: Final = 8
MAX_LINKS: Final = 4000
WIDE: Final = 20  # ends of an axis this many times apart make it logarithmic
_US: Final = 1e6


def fct_cdf(found: Simulation) -> Figure:
    """Return the share of transfers that ended within a time, a line a piece of traffic.

    Of all that have started: where a run was stopped, the line ends at the share that had ended.
    """
    traces, ends = [], [np.inf, 0.0]
    for number, (name, jobs) in enumerate(_lines(found.jobs)):
        times = [run.fct_s[np.isin(run.transfers.job[run.done], jobs)] for run in found.runs]
        started = [
            run.delivery.start_ps[np.isin(run.transfers.job, jobs)] >= 0 for run in found.runs
        ]
        ordered = np.sort(np.concatenate(times)) * _US
        if len(ordered):
            num_started = int(np.count_nonzero(np.concatenate(started)))
            traces.append(_cdf_line(name, ordered, num_started, COLOURS[number]))
            ends = [min(ends[0], float(ordered[0])), max(ends[1], float(ordered[-1]))]
    layout = new_layout("completion time, us", "% of transfers")
    wide = ends[1] > WIDE * ends[0]
    layout["xaxis"] |= {"type": "log"} if wide else {"rangemode": "tozero"}
    layout["showlegend"] = True
    layout["yaxis"] |= {"range": [0, 101]}
    return {"data": traces, "layout": layout}


def _lines(jobs: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Return the pieces of traffic that have a line each, the last of too many together."""
    lines = [(name, [number]) for number, name in enumerate(jobs)]
    if len(lines) <= len(COLOURS):
        return lines
    own = len(COLOURS) - 1
    return [*lines[:own], (f"{len(jobs) - own} others", list(range(own, len(jobs))))]


def _cdf_line(name: str, ordered: NDArray[np.float64], num_started: int, colour: str) -> Figure:
    share = 100 * np.arange(1, len(ordered) + 1) / num_started
    keep = np.unique(np.linspace(0, len(ordered) - 1, MAX_POINTS).astype(np.int64))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [float(ordered[0]), *ordered[keep].tolist()],
        "y": [0.0, *share[keep].tolist()],
        "line": {"shape": "hv", "color": colour, "width": 2},
        "hovertemplate": "%{y:.1f} % within %{x:.4g} us<extra>" + name + "</extra>",
    }


def slowdown_by_size(found: Simulation) -> Figure:
    """Return median and tail of the slowdown over flow size."""
    rows = found.by_size()
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [row["up_to_bytes"] for row in rows],
            "y": [row[key] for row in rows],
            "line": {"color": colour, "width": 2},
            "hovertemplate": "%{x:,} B: %{y:.3f}<extra>" + name + "</extra>",
        }
        for (key, name), colour in zip(
            (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile")),
            COLOURS,
            strict=False,
        )
    ]
    layout = new_layout("flow size, bytes (up to)", "slowdown")
    if rows and rows[-1]["up_to_bytes"] > WIDE * rows[0]["up_to_bytes"]:
        layout["xaxis"] |= {"type": "log"}
    layout["xaxis"] |= {"rangemode": "tozero"}
    layout["yaxis"] |= {"rangemode": "tozero"}
    return {"data": traces, "layout": layout}


def utilisation_map(found: Simulation) -> Figure:
    """Return every link as a square, a row for each pair of tiers, coloured by utilisation."""
    share, tiers = found.utilisation(), found.grid.tiers()
    names = sorted(set(tiers.tolist()), key=lambda name: (-int((tiers == name).sum()), name))
    x: list[float] = []
    y: list[str] = []
    colour: list[float] = []
    text: list[str] = []
    for name in names:
        links = np.flatnonzero(tiers == name)
        shown = links[np.argsort(-share[links], kind="stable")]
        keep = shown[np.unique(np.linspace(0, len(shown) - 1, MAX_LINKS // len(names)).astype(int))]
        x += (np.arange(len(keep)) / max(len(keep) - 1, 1) * 100).tolist()
        y += [name] * len(keep)
        colour += (100 * share[keep]).round(2).tolist()
        text += [found.grid.link(number) for number in keep.tolist()]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "text": text,
        "marker": {
            "symbol": "square",
            "size": 13,
            "color": colour,
            "cmin": 0,
            "cmax": 100,
            "colorscale": "YlOrRd",
            "reversescale": True,
            "colorbar": {"title": {"text": "%"}, "thickness": 12},
        },
        "hovertemplate": "%{text}: %{marker.color:.1f} %<extra></extra>",
    }
    layout = new_layout("links of the tier, the busiest first, %", "")
    layout["yaxis"] |= {"automargin": True, "autorange": "reversed"}
    return {"data": [trace], "layout": layout}


def over_time(
    found: Simulation, table: Mapping[str, NDArray[Any]], *, value: str, unit: str, scale: float = 1
) -> Figure:
    """Return *value* of the links with the highest peaks over time, a line each.

    Args:
        found: Gives the links' names.
        table: Columns ``link``, a time (``from_ps`` or ``when_ps``) and *value*.
        value: Which column.
        unit: What the axis says.
        scale: The column's numbers times this are in that unit.
    """
    time = table["from_ps"] if "from_ps" in table else table["when_ps"]
    first_ps = found.first.delivery.start_ps.min(initial=int(time[0]))
    link, height = table["link"].astype(np.int64), table[value].astype(np.float64)
    peak = np.zeros(len(found.grid.link_source))
    np.maximum.at(peak, link, height)
    total = np.bincount(link, height, minlength=len(peak))
    # Where many reach the same height, those that stay there.
    chosen = np.lexsort((-total, -(peak / max(peak.max(), 1e-300)).round(3)))[:MAX_LINES]
    traces = []
    for number, link in enumerate(chosen[peak[chosen] > 0].tolist()):
        mine = np.flatnonzero(table["link"] == link)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": found.grid.link(link),
                "x": ((time[mine] - first_ps) * 1e-6).tolist(),
                "y": (table[value][mine].astype(np.float64) * scale).round(4).tolist(),
                "line": {"color": COLOURS[number % len(COLOURS)], "width": 1.5},
            }
        )
    return {"data": traces, "layout": _time_layout(unit)}


def _time_layout(unit: str) -> Figure:
    layout = new_layout("time since the first start, us", unit)
    layout["yaxis"] |= {"rangemode": "tozero"}
    layout["legend"] |= {"font": {"size": 11}}
    return layout


def paused_links(found: Simulation, table: Mapping[str, NDArray[Any]]) -> Figure:
    """Return how many links were paused at a time, a line for each pair of tiers."""
    tiers = found.grid.tiers()[table["link"].astype(np.int64)]
    first_ps = found.first.delivery.start_ps.min(initial=int(table["begin_ps"].min()))
    last_ps = found.first.delivery.simulated_ps
    traces = []
    for number, name in enumerate(sorted(set(tiers.tolist()))):
        mine = tiers == name
        begin = table["begin_ps"][mine].astype(np.int64)
        end = np.where(table["end_ps"][mine] < 0, last_ps, table["end_ps"][mine])
        when, step = _links_held(table["link"][mine].astype(np.int64), begin, end)
        order = np.argsort(when, kind="stable")
        step = step[order]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": [0.0, *((when[order] - first_ps) * 1e-6).tolist()],
                "y": [0, *np.cumsum(step).tolist()],
                "line": {"shape": "hv", "color": COLOURS[number % len(COLOURS)], "width": 1.5},
            }
        )
    return {"data": traces, "layout": _time_layout("links paused")}


def _links_held(
    link: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when a link begins (1) or ceases (-1) to be paused, in however many priorities."""
    when = np.concatenate([begin, end])
    step = np.repeat([1, -1], [len(begin), len(end)])
    order = np.lexsort((-step, when, np.concatenate([link, link])))
    when, step = when[order], step[order]
    held = np.cumsum(step)  # each link's steps add up to 0
    turns = (held - step == 0) | (held == 0)
    return when[turns], step[turns]
