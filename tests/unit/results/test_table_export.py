from __future__ import annotations

import csv
import io

import nanoarrow as na
from nanoarrow.ipc import InputStream

from netloom.results.export import arrow_bytes, csv_text
from netloom.results.table import Cell, Table

ROWS: list[dict[str, Cell]] = [
    {"technology": 'a "quoted", name', "step_time_s": 0.1 + 0.2, "hops": 3, "shipping": True},
    {"technology": None, "step_time_s": None, "hops": None, "shipping": False},
]


def test_csv_reads_back_to_the_last_bit() -> None:
    text = csv_text(Table.from_rows(ROWS))
    first, second = csv.DictReader(io.StringIO(text))
    assert first["technology"] == 'a "quoted", name'
    assert float(first["step_time_s"]) == 0.1 + 0.2
    assert (first["hops"], first["shipping"]) == ("3", "true")
    assert second == {"technology": "", "step_time_s": "", "hops": "", "shipping": "false"}


def test_arrow_reads_back_with_types_missing_cells_and_units() -> None:
    data = arrow_bytes(Table.from_rows(ROWS))
    stream = na.ArrayStream(InputStream.from_readable(data))
    assert stream.read_all().to_pylist() == ROWS
    field = na.ArrayStream(InputStream.from_readable(data)).schema.field(1)
    assert dict(field.metadata) == {b"unit": b"s"}
