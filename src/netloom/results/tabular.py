"""Results that show themselves as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from netloom.results.notebook import inline_result
from netloom.results.plain import to_plain

if TYPE_CHECKING:
    from netloom.results.table import Table

__all__ = ["Tabular"]


class Tabular(Protocol):
    """A result with a table: notebooks draw it, and whatever reads Arrow reads it.

    Notebooks draw it with the components of the web page, and as a table where no script runs.

    Classes inherit from it and write :meth:`table`.
    """

    __slots__ = ()

    def table(self) -> Table:
        """Return its rows."""
        ...

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table through the Arrow PyCapsule interface."""
        return self.table().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        table, to_json = self.table()._repr_html_(), getattr(self, "to_json", None)
        if to_json is None:
            return table
        told = {"command": type(self).__name__.lower(), "result": to_plain(to_json())}
        return inline_result(told, table=table)
