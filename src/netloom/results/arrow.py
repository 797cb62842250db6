"""Tables as Arrow: columns of a table through the Arrow C stream interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import nanoarrow as na
import numpy as np
from nanoarrow.c_array_stream import CArrayStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.results.column import Column

__all__ = ["stream_of"]


def stream_of(columns: Sequence[Column], requested_schema: object = None) -> object:
    """Return *columns* as an Arrow C stream capsule of one batch."""
    fields = {column.name: _field(column) for column in columns}
    batch = na.c_array_from_buffers(
        na.struct(fields, nullable=False),
        len(columns[0]) if columns else 0,
        [None],
        children=[_arrow(column) for column in columns],
    )
    stream = CArrayStream.from_c_arrays([batch], batch.schema, validate=False)
    return cast("object", stream.__arrow_c_stream__(requested_schema))


def _field(column: Column) -> na.Schema:
    types = {"str": na.Type.STRING, "float": na.Type.DOUBLE, "int": na.Type.INT64}
    kind = types.get(column.kind, na.Type.BOOL)
    return na.Schema(kind, metadata={"unit": column.unit} if column.unit else None)


def _arrow(column: Column) -> object:
    if isinstance(column.values, tuple):
        return na.c_array(list(column.values), na.string())
    bits = column.kind == "bool"
    data = np.packbits(column.values, bitorder="little") if bits else column.values
    valid = None if column.valid is None else np.packbits(column.valid, bitorder="little")
    return na.c_array_from_buffers(_field(column), len(column), [valid, data])
