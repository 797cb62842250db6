"""The hall: where each rack stands and how far one is from another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.spec.scenario import Floor

__all__ = ["Hall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hall:
    """Rows of racks, folded into a floor as square as whole rows allow.

    Racks are numbered along a line that turns at the end of each row, and rows along one that
    turns at the end of each column, so that neighbours in the numbering stay neighbours on the
    floor. The number of columns is odd: then the middle of the numbering is the middle of the
    hall.

    Attributes:
        num_racks: Racks in all.
        num_columns: Rows that stand end to end across the hall.
        rows_per_column: Rows that stand behind one another.
        floor: The measures that were asked for.
    """

    num_racks: int
    num_columns: int
    rows_per_column: int
    floor: Floor

    @classmethod
    def of(cls, num_racks: int, floor: Floor) -> Hall:
        """Return the hall nearest to a square that holds *num_racks*."""
        num_rows = -(-num_racks // floor.racks_per_row)
        column_m = floor.racks_per_row * floor.rack_width_m + floor.row_pitch_m
        across = math.sqrt(num_rows * floor.row_pitch_m / column_m)
        num_columns = 2 * int(across / 2) + 1
        return cls(
            num_racks=num_racks,
            num_columns=num_columns,
            rows_per_column=-(-num_rows // num_columns),
            floor=floor,
        )

    @property
    def width_m(self) -> float:
        """Along the rows, aisles between the columns included."""
        row_m = self.floor.racks_per_row * self.floor.rack_width_m
        return self.num_columns * row_m + (self.num_columns - 1) * self.floor.row_pitch_m

    @property
    def depth_m(self) -> float:
        """Across the rows."""
        return self.rows_per_column * self.floor.row_pitch_m

    def length_m(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the length of a cable between each rack of *one* and its partner in *other*.

        Over trays at right angles, with slack at both ends; inside a rack it is one slack long.
        """
        x_one, y_one = self.place(one)
        x_other, y_other = self.place(other)
        away_m = np.abs(x_one - x_other) + np.abs(y_one - y_other) + 2 * self.floor.slack_m
        return np.where(one == other, self.floor.slack_m, away_m)

    def place(self, rack: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where each rack stands, in metres along the rows and across them."""
        floor = self.floor
        row, seat = np.divmod(rack, floor.racks_per_row)
        seat = np.where(row % 2 == 0, seat, floor.racks_per_row - 1 - seat)
        column, row = np.divmod(row, self.rows_per_column)
        row = np.where(column % 2 == 0, row, self.rows_per_column - 1 - row)
        column_m = floor.racks_per_row * floor.rack_width_m + floor.row_pitch_m
        return column * column_m + seat * floor.rack_width_m, row * floor.row_pitch_m
