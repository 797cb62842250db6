"""The list that installers work from: every cable from port to port, as CSV or spreadsheet."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Final

from netloom.errors import OutputError
from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.plant import Cable, Port
    from netloom.ops.site import Site

__all__ = ["HEADINGS", "cable_rows", "point_to_point_csv", "point_to_point_xlsx"]

HEADINGS: Final = (
    "cable_id",
    *("a_rack", "a_u", "a_device", "a_port"),
    *("b_rack", "b_u", "b_device", "b_port"),
    *("media", "length_m", "speed", "a_transceiver", "b_transceiver", "label"),
)
_EPOCH: Final = datetime(1980, 1, 1, tzinfo=UTC)  # equal sites give equal files

Row = tuple[str | int, ...]


def cable_rows(site: Site) -> Iterator[Row]:
    """Yield one row a cable, the lower end first, cells in the order of the headings."""
    digits = max(5, len(str(len(site.plant.cables))))
    for index, cable in enumerate(site.plant.cables, start=1):
        ends = tuple(cell for port in cable.ends for cell in _end(site, port))
        yield (f"C{index:0{digits}}", *ends, *_goods(site, cable), _label(site, cable))


def _goods(site: Site, cable: Cable) -> Row:
    """Return what is bought: medium, length, speed, transceivers; empty where cables have ends."""
    run = site.run(cable)
    lower, upper = (run.lower, run.upper) if run else (None, None)
    return (
        run.cable.medium if run else "",
        round(site.length_m(cable)),
        format_quantity(cable.rate_bps, RATE),
        lower.name if lower else "",
        upper.name if upper else "",
    )


def _end(site: Site, port: Port) -> Row:
    seat = site.seat(port.device)
    return seat.rack, seat.unit, site.hostnames[port.device], site.label(port)


def _label(site: Site, cable: Cable) -> str:
    ends = (f"{site.hostnames[p.device]} {site.label(p)}" for p in cable.ends)
    return " - ".join(ends)


def point_to_point_csv(site: Site) -> str:
    """Return the list as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADINGS)
    writer.writerows(cable_rows(site))
    return out.getvalue()


def point_to_point_xlsx(site: Site) -> bytes:
    """Return the list as a spreadsheet, one sheet for each pair of levels.

    Raises:
        OutputError: the library that writes spreadsheets is not installed.
    """
    try:
        xlsxwriter = import_module("xlsxwriter")
    except ImportError as error:
        message = "the spreadsheet needs XlsxWriter: pip install 'netloom[deploy]'"
        raise OutputError(message) from error
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        book.set_properties({"created": _EPOCH})
        bold = book.add_format({"bold": True})
        for title, rows in _sheets(site).items():
            sheet = book.add_worksheet(title)
            sheet.write_row(0, 0, HEADINGS, bold)
            for number, row in enumerate(rows, start=1):
                sheet.write_row(number, 0, row)
            sheet.autofilter(0, 0, len(rows), len(HEADINGS) - 1)
            sheet.freeze_panes(1, 0)
            sheet.set_column(0, len(HEADINGS) - 1, 14)
    return out.getvalue()


def _sheets(site: Site) -> dict[str, list[Row]]:
    sheets: dict[str, list[Row]] = {}
    for cable, row in zip(site.plant.cables, cable_rows(site), strict=True):
        levels = (site.level(port.device) for port in cable.ends)
        sheets.setdefault(" - ".join(levels), []).append(row)
    return sheets
