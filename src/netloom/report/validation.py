"""Predicted against measured: a page of scatter plots, one for each suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netloom.report.charts import BYTES, GREY, HUES, PLAIN, SECONDS, ChartAxis, Figure, Plot, Series
from netloom.report.html import render
from netloom.report.sections import Gallery, HtmlTable, Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["validation_page"]

BAND = 0.1
_SOLID, _DOTTED = 0, 2  # of templates/page.css's dashes
UNITS = {"collectives": "GB/s of bus bandwidth", "fct": "slowdown, or each row's unit"}


def validation_page(suites: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page for *suites*, each as ``netloom validate --json --rows`` prints it."""
    figures = [_scatter(name, suite["per_row"]) for name, suite in suites.items()]
    for suite in suites.values():
        for title, curves in _by_figure(suite.get("curves", ())).items():
            figures.append(_curves_figure(f"curves-{len(figures)}", title, curves))
    page = Page(
        title="Predicted against measured",
        subtitle=(
            "Every row of every suite. On the line a prediction is exact; the band is ten percent "
            "either way. Faint crosses lie outside the range that is claimed, or do not count."
        ),
        sections=(
            HtmlTable(
                title="Suites",
                caption="Errors of the rows inside the range that is claimed.",
                headings=(
                    "suite",
                    "rows",
                    "inside",
                    "median error",
                    "mean",
                    "p90",
                    "bias",
                    "bound",
                ),
                rows=[_row(name, suite) for name, suite in suites.items()],
            ),
            Gallery(figures=tuple(figures)),
        ),
    )
    return render(page)


def _by_figure(curves: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the curves of each workload, load and percentile, under a title."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for curve in curves:
        workload = {"wb": "WebSearch", "fb": "FB_Hadoop"}.get(curve["workload"], "")
        title = f"{workload} {curve['load_pct']} %: slowdown, percentile {curve['fct_percentile']}"
        found.setdefault(title, []).append(curve)
    return found


def _curves_figure(key: str, title: str, curves: Sequence[Mapping[str, Any]]) -> Figure:
    """Return published curves, dotted, and simulated ones, a colour a scheme."""
    lines = tuple(
        _curve(curve, side, index % HUES)
        for index, curve in enumerate(curves)
        for side in ("published", "simulated")
    )
    chart = Plot(
        x=ChartAxis(title="flows by size, percent"),
        y=ChartAxis(title="slowdown", is_log=True),
        series=lines,
    )
    caption = "Dotted: as published; solid: simulated. Flows in the order of their size."
    return Figure(key=key, title=title, caption=caption, chart=chart)


def _curve(curve: Mapping[str, Any], side: str, hue: int) -> Series:
    # Where no flow of a size ended there is no slowdown.
    known = [(step, value) for step, value in enumerate(curve[side], 1) if value is not None]
    return Series(
        name=f"{curve['scheme']}, {side}",
        x=tuple(float(percent) for percent, _ in known),
        y=tuple(float(value) for _, value in known),
        hue=hue,
        dash=_DOTTED if side == "published" else _SOLID,
    )


def _row(name: str, suite: Mapping[str, Any]) -> list[str]:
    errors = ("median_abs_error_pct", "mean_abs_error_pct", "p90_abs_error_pct", "bias_pct")
    shown = ["-" if suite[key] is None else f"{suite[key]:.1f} %" for key in errors]
    verdict = "within" if suite["bound_ok"] else "over"
    return [name, f"{suite['rows']:,}", f"{suite['inside']:,}", *shown, verdict]


def _scatter(name: str, rows: Sequence[Mapping[str, Any]]) -> Figure:
    known = [row for row in rows if row["predicted"] and row["measured"]]
    unit = BYTES if name == "memory" else PLAIN if name in UNITS else SECONDS
    said = f", {UNITS[name]}" if name in UNITS else ""
    chart = Plot(
        x=ChartAxis(title=f"measured{said}", unit=unit, is_log=True),
        y=ChartAxis(title=f"predicted{said}", unit=unit, is_log=True),
        series=(*_lines(known), *(_points(known, inside=flag) for flag in (False, True))),
    )
    caption = f"{len(known):,} of {len(rows):,} rows have both numbers."
    return Figure(key=name, title=name, caption=caption, chart=chart)


def _points(rows: Sequence[Mapping[str, Any]], *, inside: bool) -> Series:
    shown = [row for row in rows if _counts(row) is inside]
    return Series(
        name="inside" if inside else "outside, or apart",
        x=tuple(float(row["measured"]) for row in shown),
        y=tuple(float(row["predicted"]) for row in shown),
        hue=0 if inside else GREY,
        join="none",
        mark="circle" if inside else "cross",
        notes=tuple(f"{row['row_id']}, {row['error_pct']:+.1f} %" for row in shown),
        faint=not inside,
    )


def _counts(row: Mapping[str, Any]) -> bool:
    return bool(row["inside"]) and bool(row.get("counted", True))


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[Series]:
    """Return the line of exact predictions and the band about it."""
    if not rows:
        return []
    ends = tuple(float(edge(row["measured"] for row in rows)) for edge in (min, max))
    return [
        Series(
            name="",
            x=ends,
            y=tuple(factor * end for end in ends),
            hue=GREY,
            dash=_SOLID if factor == 1 else _DOTTED,
            silent=True,
        )
        for factor in (1 - BAND, 1, 1 + BAND)
    ]
