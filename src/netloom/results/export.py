"""Tables as files: CSV and Arrow IPC."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.results.table import Cell, Table

__all__ = ["arrow_bytes", "csv_text"]


def csv_text(table: Table) -> str:
    """Return the table as CSV (RFC 4180): a heading, then a line a row; missing cells are empty.

    Numbers are written so that they read back to the last bit.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(table.names)
    writer.writerows([_written(cell) for cell in row.values()] for row in table.rows())
    return buffer.getvalue()


def arrow_bytes(table: Table) -> bytes:
    """Return the table as an Arrow IPC stream; units are field metadata."""
    from nanoarrow.ipc import StreamWriter  # noqa: PLC0415  (native code)

    buffer = io.BytesIO()
    with StreamWriter.from_writable(buffer) as writer:
        writer.write_stream(table)
    return buffer.getvalue()


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else json.dumps(cell)
