"""Results that show themselves as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from netloom.results.table import Table

__all__ = ["Tabular"]


class Tabular(Protocol):
    """A result with a table: notebooks draw it, and whatever reads Arrow reads it.

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
        return self.table()._repr_html_()
