from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import nanoarrow as na
import numpy as np
import pytest

from netloom.errors import OutputError
from netloom.results.table import Cell, Table

ROWS: list[dict[str, Cell]] = [
    {"technology": "infiniband-ndr", "step_time_s": 4.5, "hops": 3, "shipping": True},
    {"technology": "uet-400g", "step_time_s": None, "hops": 5, "shipping": False},
    {"technology": None, "step_time_s": 5.0, "hops": None},
]
UNITS = {"step_time_s": "s"}


@pytest.fixture
def table() -> Table:
    return Table.from_rows(ROWS, units=UNITS)


def test_rows_come_back_with_none_for_what_is_missing(table: Table) -> None:
    assert table.rows() == [*ROWS[:2], {**ROWS[2], "shipping": None}]
    assert len(table) == 3
    assert table.names == ("technology", "step_time_s", "hops", "shipping")
    assert table.units == {"technology": "", "step_time_s": "s", "hops": "", "shipping": ""}


def test_columns_are_typed_and_read_only(table: Table) -> None:
    assert [column.kind for column in table.columns] == ["str", "float", "int", "bool"]
    values = table.column("step_time_s").values
    assert isinstance(values, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0


def test_a_table_from_columns_equals_the_one_from_rows(table: Table) -> None:
    columns = {name: [row[name] for row in table.rows()] for name in table.names}
    assert Table.from_columns(columns, units=UNITS) == table
    assert Table.from_columns(columns) != table  # without the unit


def test_tables_with_nan_at_the_same_place_are_equal() -> None:
    one = Table.from_columns({"x": [math.nan, 1.0]})
    assert one == Table.from_columns({"x": np.array([math.nan, 1.0])})
    assert one != Table.from_columns({"x": [1.0, math.nan]})
    assert one != Table.from_columns({"x": [None, 1.0]})


def test_arrow_reads_the_same_rows_types_and_units(table: Table) -> None:
    stream = na.ArrayStream(table)
    types = [field.type for field in stream.schema.fields]
    assert types == [na.Type.STRING, na.Type.DOUBLE, na.Type.INT64, na.Type.BOOL]
    assert dict(stream.schema.field(1).metadata.items()) == {b"unit": b"s"}
    assert dict(stream.schema.field(2).metadata.items()) == {}
    assert stream.read_all().to_pylist() == table.rows()


def test_arrow_can_be_read_more_than_once(table: Table) -> None:
    assert na.ArrayStream(table).read_all().to_pylist() == table.rows()
    assert na.ArrayStream(table).read_all().to_pylist() == table.rows()


def test_numbers_reach_arrow_without_a_copy() -> None:
    rates = np.linspace(0.0, 1.0, 1000)
    batch = next(iter(na.ArrayStream(Table.from_columns({"rate": rates})).read_all().iter_chunks()))
    assert np.shares_memory(np.asarray(batch.child(0).buffers[1]), rates)


def test_more_than_a_byte_of_bits_is_packed_in_arrow_order() -> None:
    flags = [True, False, False, True, True, False, True, True, True, None, False]
    assert na.ArrayStream(Table.from_columns({"up": flags})).read_all().to_pylist() == [
        {"up": flag} for flag in flags
    ]


def test_whole_numbers_among_fractions_become_fractions() -> None:
    assert Table.from_columns({"x": [1, 2.5]}).column("x").kind == "float"


def test_arrays_of_other_widths_are_widened() -> None:
    table = Table.from_columns({"a": np.array([1], np.int8), "b": np.array([1.5], np.float32)})
    assert table.rows() == [{"a": 1, "b": 1.5}]


def test_text_arrays_are_text() -> None:
    assert Table.from_columns({"a": np.array(["x", "y"])}).column("a").cells() == ["x", "y"]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["a", 1], "column 'x' mixes int and str"),
        ([True, 1], "column 'x' mixes bool and int"),
        ([[1]], "column 'x' holds a list, which no cell can be"),
    ],
)
def test_a_column_of_several_types_is_refused(cells: list[object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        Table.from_columns({"x": cells})  # type: ignore[dict-item]


def test_numbers_beyond_64_bits_are_refused_not_wrapped() -> None:
    with pytest.raises(OverflowError):
        Table.from_columns({"x": np.array([2**63], np.uint64)})
    with pytest.raises(OverflowError):
        Table.from_columns({"x": [2**63]})


def test_an_unknown_column_names_the_known_ones(table: Table) -> None:
    with pytest.raises(KeyError, match="no column 'hop'; there are technology, step_time_s"):
        table.column("hop")


def test_an_empty_table_is_a_table() -> None:
    empty = Table.from_rows([])
    assert (len(empty), empty.rows(), empty.names) == (0, [], ())
    assert na.ArrayStream(empty).read_all().to_pylist() == []


def test_a_notebook_sees_units_and_no_markup_from_the_data() -> None:
    shown = Table.from_rows([{"a": "<script>", "b": 1 / 3}], units={"b": "s"})._repr_html_()
    assert "<th>b [s]</th>" in shown
    assert "&lt;script&gt;" in shown
    assert "0.333333" in shown


def test_a_notebook_is_not_flooded() -> None:
    shown = Table.from_columns({"x": np.arange(1000)})._repr_html_()
    assert shown.count("<tr>") == 201  # a heading and 200 rows
    assert "and 800 rows more" in shown


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_installed_is_named_with_the_remedy(
    table: Table, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not there
    with pytest.raises(OutputError, match=f"{library}: not installed; .*pip install {library}"):
        getattr(table, f"to_{library}")()


def test_polars_is_handed_the_arrow_stream(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SimpleNamespace(DataFrame=lambda given: na.ArrayStream(given).read_all().to_pylist())
    monkeypatch.setitem(sys.modules, "polars", reader)
    assert table.to_polars() == table.rows()


def test_pandas_is_handed_columns_that_keep_missing_cells(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SimpleNamespace(DataFrame=dict, array=lambda cells, dtype: (dtype, cells))
    monkeypatch.setitem(sys.modules, "pandas", reader)
    frame = table.to_pandas()
    assert frame["step_time_s"] == ("Float64", [4.5, None, 5.0])
    assert frame["hops"] == ("Int64", [3, 5, None])
    assert frame["technology"] == ("infiniband-ndr", "uet-400g", None)
