"""One column of a table of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Cell", "Column", "Kind"]

Cell: TypeAlias = str | float | int | bool | None
Kind: TypeAlias = Literal["str", "float", "int", "bool"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """The cells of one column.

    Attributes:
        kind: What the cells are.
        unit: Of the numbers: ``s``, ``bit/s``, ``USD`` ...; empty for plain numbers and text.
        values: Text as a tuple; all else as a read-only array of float64, int64 or bool.
        valid: For an array with missing cells, which are there; None when all are.
    """

    name: str
    kind: Kind
    unit: str
    values: NDArray[Any] | tuple[str | None, ...]
    valid: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        same_head = (self.name, self.kind, self.unit) == (other.name, other.kind, other.unit)
        return (
            same_head and len(self) == len(other) and all(map(_same, self.cells(), other.cells()))
        )

    __hash__ = None  # type: ignore[assignment]

    def cells(self) -> list[Cell]:
        """Return the cells as plain Python values, None where one is missing."""
        if isinstance(self.values, tuple):
            return list(self.values)
        cells: list[Cell] = self.values.tolist()
        if self.valid is None:
            return cells
        return [cell if there else None for cell, there in zip(cells, self.valid, strict=True)]


def _same(one: Cell, other: Cell) -> bool:
    both_nan = one != one and other != other  # noqa: PLR0124  (only NaN differs from itself)
    return both_nan or one == other
