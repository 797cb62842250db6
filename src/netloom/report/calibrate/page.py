"""One self-contained HTML page for a calibrated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.calibrate.text import CONSTANTS, ERRORS, constant_rows, error_rows, headline
from netloom.report.charts import BYTES, ChartAxis, Figure, Plot, Series
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Item, Listing, Page, Section

if TYPE_CHECKING:
    from netloom.study.calibrate.calibration import CalibratedRow, NetworkCalibration

__all__ = ["calibration_page"]

_MAX_FIGURES: Final = 24


def calibration_page(found: NetworkCalibration) -> str:
    """Return the page as one string of HTML."""
    sections: list[Section | None] = [
        Gallery(figures=_figures(found), tables=(_constants(found),)),
        _errors(found),
        _open(found),
    ]
    page = Page(
        title=f"Calibration of {found.fit.node.name} on {found.fit.technology.name}",
        answer=AnswerBox(headline=headline(found), notes=_notes(found)),
        sections=tuple(section for section in sections if section is not None),
    )
    return render(page)


def _notes(found: NetworkCalibration) -> tuple[str, ...]:
    unused = (f"{one.file}: {one.num_rows} rows not used: {one.why}." for one in found.skipped)
    return (f"Logs: {', '.join(found.files)}.", *found.notes, *unused)


def _constants(found: NetworkCalibration) -> HtmlTable:
    return HtmlTable(
        title="Constants",
        caption="What the logs decide, and which messages decided it.",
        headings=CONSTANTS,
        rows=constant_rows(found),
    )


def _errors(found: NetworkCalibration) -> HtmlTable | None:
    if not found.errors:
        return None
    return HtmlTable(
        title="Errors",
        caption="Median errors of the bus bandwidth; the last by constants without that size.",
        headings=ERRORS,
        rows=error_rows(found),
    )


def _open(found: NetworkCalibration) -> Listing | None:
    if not found.open_constants:
        return None
    items = tuple(
        Item(name=one.key, text=one.why, note=one.measure) for one in found.open_constants
    )
    return Listing(title="What stays as shipped, and what would decide it", items=items)


def _figures(found: NetworkCalibration) -> tuple[Figure, ...]:
    keys = dict.fromkeys((row.collective, row.num_nodes, row.num_ranks) for row in found.rows)
    return tuple(
        _figure(key, [row for row in found.rows if _key(row) == key])
        for key in list(keys)[:_MAX_FIGURES]
    )


def _key(row: CalibratedRow) -> tuple[str, int, int]:
    return row.collective, row.num_nodes, row.num_ranks


def _figure(key: tuple[str, int, int], rows: list[CalibratedRow]) -> Figure:
    collective, num_nodes, num_ranks = key
    rows = sorted(rows, key=lambda row: row.size_bytes)
    sizes = tuple(row.size_bytes for row in rows)
    drawn = (
        ("measured", tuple(row.bus_bps(row.measured_s) / 8e9 for row in rows)),
        ("before", tuple(row.bus_bps(row.before_s) / 8e9 for row in rows)),
        ("after", tuple(row.bus_bps(row.after_s) / 8e9 for row in rows)),
    )
    series = tuple(
        Series(name=name, x=sizes, y=rates, hue=at, mark="circle" if at == 0 else None)
        for at, (name, rates) in enumerate(drawn)
    )
    return Figure(
        key=f"{collective}-{num_nodes}-{num_ranks}",
        title=f"{collective} on {num_nodes} nodes, {num_ranks} ranks",
        caption="Bus bandwidth by size of the message, as measured and as predicted.",
        chart=Plot(
            x=ChartAxis(title="size", unit=BYTES, is_log=True),
            y=ChartAxis(title="bus bandwidth, GB/s", is_log=True),
            series=series,
        ),
    )
