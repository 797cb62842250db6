"""Predicted against measured: a page of scatter plots, one for each suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netloom.report.compare.figures import new_layout
from netloom.report.html import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["validation_page"]

BAND = 0.1
UNITS = {"collectives": "GB/s of bus bandwidth", "fct": "slowdown, or each row's unit"}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def validation_page(suites: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page for *suites*, each as ``netloom validate --json --rows`` prints it."""
    plots = {name: _figure(name, suite["per_row"]) for name, suite in suites.items()}
    titles = {name: name for name in suites}
    for suite in suites.values():
        for title, curves in _by_figure(suite.get("curves", ())).items():
            key = f"curves-{len(plots)}"
            plots[key], titles[key] = _curves(curves), title
    return render(
        "validate.html.j2",
        plots=plots,
        rows=[_row(name, suite) for name, suite in suites.items()],
        figures=list(titles.items()),
    )


def _by_figure(curves: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the curves of each workload, load and percentile, under a title."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for curve in curves:
        workload = {"wb": "WebSearch", "fb": "FB_Hadoop"}.get(curve["workload"], "")
        title = f"{workload} {curve['load_pct']} %: slowdown, percentile {curve['fct_percentile']}"
        found.setdefault(title, []).append(curve)
    return found


def _curves(curves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return published curves, dotted, and simulated ones, a colour a scheme."""
    layout = new_layout("flows by size, percent", "slowdown")
    layout["yaxis"] |= {"type": "log", "nticks": 8}
    lines = [
        _curve(curve, side, COLOURS[index % len(COLOURS)])
        for index, curve in enumerate(curves)
        for side in ("published", "simulated")
    ]
    return {"data": lines, "layout": layout}


def _curve(curve: Mapping[str, Any], side: str, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{curve['scheme']}, {side}",
        "x": list(range(1, 101)),
        "y": curve[side],
        "line": {"color": colour, "width": 2, "dash": "dot" if side == "published" else "solid"},
    }


def _row(name: str, suite: Mapping[str, Any]) -> list[str]:
    errors = ("median_abs_error_pct", "mean_abs_error_pct", "p90_abs_error_pct", "bias_pct")
    shown = ["-" if suite[key] is None else f"{suite[key]:.1f} %" for key in errors]
    verdict = "within" if suite["bound_ok"] else "over"
    return [name, f"{suite['rows']:,}", f"{suite['inside']:,}", *shown, verdict]


def _figure(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [row for row in rows if row["predicted"] and row["measured"]]
    unit = UNITS.get(name, "seconds")
    layout = new_layout(f"measured, {unit}", f"predicted, {unit}")
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"type": "log", "nticks": 8}
    inside = [_points(known, inside=flag) for flag in (False, True)]
    return {"data": [*_lines(known), *inside], "layout": layout}


def _points(rows: Sequence[Mapping[str, Any]], *, inside: bool) -> dict[str, Any]:
    shown = [row for row in rows if _counts(row) is inside]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "inside" if inside else "outside, or apart",
        "x": [row["measured"] for row in shown],
        "y": [row["predicted"] for row in shown],
        "text": [f"{row['row_id']}: {row['error_pct']:+.1f} %" for row in shown],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": 6,
            "color": "#0072B2" if inside else "#9ca3af",
            "symbol": "circle" if inside else "x-thin-open",
            "opacity": 0.75 if inside else 0.5,
        },
    }


def _counts(row: Mapping[str, Any]) -> bool:
    return bool(row["inside"]) and bool(row.get("counted", True))


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the line of exact predictions and the band about it."""
    if not rows:
        return []
    ends = [min(row["measured"] for row in rows), max(row["measured"] for row in rows)]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": ends,
            "y": [factor * end for end in ends],
            "line": {"color": "#6b7280", "width": 1, "dash": "solid" if factor == 1 else "dot"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
        for factor in (1 - BAND, 1, 1 + BAND)
    ]
