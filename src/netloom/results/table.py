"""A table of results: named, typed columns with units, readable by anything that reads Arrow."""

from __future__ import annotations

import html
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import OutputError
from netloom.results.column import Cell, Column, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Cell", "Column", "Table"]

MAX_ROWS_SHOWN: Final = 200
_DTYPES: Final[dict[Kind, Any]] = {"float": np.float64, "int": np.int64, "bool": np.bool_}
_KINDS_BY_DTYPE: Final[dict[str, Kind]] = {"f": "float", "i": "int", "u": "int", "b": "bool"}
_MISSING: Final[dict[Kind, Cell]] = {"float": 0.0, "int": 0, "bool": False}


_UNITS: Final = {"_bytes": "B", "_bps": "bit/s", "_usd": "USD", "_w": "W", "_m": "m", "_s": "s"}


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length, in order.

    Hands itself on through the Arrow C stream interface, so ``polars.DataFrame(table)``,
    ``pyarrow.table(table)`` and DuckDB read it; numbers are not copied on the way. Units travel
    as the field metadata ``unit``.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        assert len({len(column) for column in self.columns}) <= 1, "columns differ in length"
        assert len(set(self.names)) == len(self.columns), "two columns have one name"

    @classmethod
    def from_rows(
        cls, rows: Iterable[Mapping[str, Cell]], *, units: Mapping[str, str] | None = None
    ) -> Table:
        """Return the table with these rows; columns stand in the order their names first occur.

        A row without a column's name has a missing cell there. A column whose unit is not
        given has the one its name carries.
        """
        rows = list(rows)
        names = list(dict.fromkeys(name for row in rows for name in row))
        carried = {name: unit for name in names if (unit := _carried_unit(name))}
        return cls.from_columns(
            {name: [row.get(name) for row in rows] for name in names},
            units=carried | dict(units or {}),
        )

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Sequence[Cell] | NDArray[Any]],
        *,
        units: Mapping[str, str] | None = None,
    ) -> Table:
        """Return the table with these columns; float64, int64 and bool arrays are not copied.

        Args:
            columns: The cells by column name. A list may hold None for what is missing; it is of
                one type, but that whole numbers among others count as such.
            units: The unit of a column; columns not named have none.

        Raises:
            TypeError: a column mixes types, or holds something that no cell can be.
            OverflowError: a whole number needs more than 64 bits, signed.
        """
        units = units or {}
        made = [_column(name, cells, units.get(name, "")) for name, cells in columns.items()]
        return cls(tuple(made))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def units(self) -> dict[str, str]:
        """The unit of every column; empty where there is none."""
        return {column.name: column.unit for column in self.columns}

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def column(self, name: str) -> Column:
        """Return the column *name*.

        Raises:
            KeyError: there is none.
        """
        found = next((column for column in self.columns if column.name == name), None)
        if found is None:
            message = f"no column {name!r}; there are {', '.join(self.names)}"
            raise KeyError(message)
        return found

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows as dicts of plain Python values."""
        cells = [column.cells() for column in self.columns]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*cells, strict=True)]

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``.

        Raises:
            OutputError: pandas is not installed.
        """
        pandas = _installed("pandas")
        frame = {column.name: _for_pandas(column, pandas) for column in self.columns}
        return pandas.DataFrame(frame)

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``.

        Raises:
            OutputError: polars is not installed.
        """
        return _installed("polars").DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as an Arrow C stream capsule of one batch."""
        from netloom.results.arrow import stream_of  # noqa: PLC0415  (few tables leave the process)

        return stream_of(self.columns, requested_schema)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{_heading(column)}</th>" for column in self.columns)
        shown = self.rows()[:MAX_ROWS_SHOWN]
        body = "".join(f"<tr>{''.join(map(_html_cell, row.values()))}</tr>" for row in shown)
        rest = len(self) - len(shown)
        foot = f"<p>and {rest} rows more</p>" if rest else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def _carried_unit(name: str) -> str:
    """Return the unit that a name ends with: ``s`` of ``step_time_s``; empty without one."""
    if name.endswith("_per_s"):
        return "1/s"
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def _column(name: str, cells: Sequence[Cell] | NDArray[Any], unit: str) -> Column:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in _KINDS_BY_DTYPE:
        assert cells.ndim == 1, name
        kind = _KINDS_BY_DTYPE[cells.dtype.kind]
        if cells.dtype == np.uint64 and cells.size and cells.max() > np.iinfo(np.int64).max:
            message = f"column {name!r} holds numbers beyond 64 bits signed"
            raise OverflowError(message)
        array = np.ascontiguousarray(cells, dtype=_DTYPES[kind]).view()
        array.flags.writeable = False
        return Column(name=name, kind=kind, unit=unit, values=array)
    plain: list[Any] = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    kind = _kind(name, plain)
    if kind == "str":
        return Column(name=name, kind=kind, unit=unit, values=tuple(plain))
    valid = np.array([cell is not None for cell in plain], dtype=np.bool_)
    filled = [_MISSING[kind] if cell is None else cell for cell in plain]
    array = np.array(filled, dtype=_DTYPES[kind])
    array.flags.writeable = False
    there = None if valid.all() else valid
    return Column(name=name, kind=kind, unit=unit, values=array, valid=there)


def _kind(name: str, cells: list[Any]) -> Kind:
    kinds = {_cell_kind(name, cell) for cell in cells if cell is not None}
    if kinds == {"int", "float"} or not kinds:
        return "float"
    if len(kinds) > 1:
        message = f"column {name!r} mixes {' and '.join(sorted(kinds))}"
        raise TypeError(message)
    return kinds.pop()


def _cell_kind(name: str, cell: object) -> Kind:
    if isinstance(cell, (bool, np.bool_)):
        return "bool"
    if isinstance(cell, (int, np.integer)):
        return "int"
    if isinstance(cell, (float, np.floating)):
        return "float"
    if isinstance(cell, str):
        return "str"
    message = f"column {name!r} holds a {type(cell).__name__}, which no cell can be"
    raise TypeError(message)


def _for_pandas(column: Column, pandas: Any) -> Any:
    if isinstance(column.values, tuple) or column.valid is None:
        return column.values
    nullable = {"float": "Float64", "int": "Int64", "bool": "boolean"}
    return pandas.array(column.cells(), dtype=nullable[column.kind])


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OutputError(
            what=f"{module}: not installed", remedy=f"install it with 'pip install {module}'"
        ) from error


def _heading(column: Column) -> str:
    unit = f" [{column.unit}]" if column.unit else ""
    return html.escape(column.name + unit)


def _html_cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{html.escape(cell)}</td>"
    if isinstance(cell, float):
        return f"<td style='text-align: right'>{cell:.6g}</td>"
    text = "" if cell is None else str(cell)
    return f"<td style='text-align: right'>{text}</td>"
