"""Where the cells of a watched fabric stand: racks on the floor of the hall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netloom.fabric.cost.layout import nodes_per_rack
from netloom.fabric.cost.places import place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.layout import FabricLayout
    from netloom.ops.observe.designed import Designed

__all__ = ["FloorPlan", "floor_plan"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FloorPlan:
    """Racks, and the racks that each cell leads between.

    Attributes:
        names: Of each rack, such as ``R003``, as ``netloom audit`` calls it.
        x_m: Along the rows.
        y_m: Across them.
        pitch_m: Width of a rack, and from one row to the next.
        ends: Two racks a cell, by their place in *names*.
    """

    names: tuple[str, ...]
    x_m: NDArray[np.float64]
    y_m: NDArray[np.float64]
    pitch_m: tuple[float, float]
    ends: NDArray[np.uint32]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents."""
        return {
            "racks": list(self.names),
            "x_m": np.round(self.x_m, 3).tolist(),
            "y_m": np.round(self.y_m, 3).tolist(),
            "rack_width_m": self.pitch_m[0],
            "row_pitch_m": self.pitch_m[1],
        }

    def to_bytes(self) -> bytes:
        """Return the two racks of each cell, little-endian, four bytes each."""
        return self.ends.astype("<u4").tobytes()


def floor_plan(designed: Designed, layout: FabricLayout) -> FloorPlan:
    """Return where the cells of *layout* stand."""
    fabric, floor = designed.fabric, designed.floor
    placed = place(fabric, floor, per_rack=nodes_per_rack(floor, designed.network.node))
    first = 2 * layout.cables
    ends = np.stack(
        [placed.rack[fabric.link_source[first]], placed.rack[fabric.link_target[first]]], axis=1
    )
    used, numbers = np.unique(ends, return_inverse=True)
    x_m, y_m = placed.hall.place(used)
    return FloorPlan(
        names=tuple(f"R{rack:03}" for rack in used.tolist()),
        x_m=x_m,
        y_m=y_m,
        pitch_m=(floor.rack_width_m, floor.row_pitch_m),
        ends=numbers.reshape(ends.shape).astype(np.uint32),
    )
