"""The state of every cable as two bytes: how it is, and how loaded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.layout import layout_of
from netloom.ops.locate.faults import FaultKind, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from netloom.fabric.layout import FabricLayout
    from netloom.fabric.part_id import PartId
    from netloom.ops.observe.designed import Designed

__all__ = ["SEVERITY", "CableState", "CellBytes", "CellMap", "state_of_kind"]


class CableState(IntEnum):
    """How a cable is, as pages number it."""

    UP = 0
    UNKNOWN = 1
    SLOW = 2
    DEGRADED = 3
    DOWN = 4
    DRAINED = 5


# The worst of many is shown: a mean would hide one among thousands.
SEVERITY: Final = np.array([0, 1, 3, 4, 5, 2], dtype=np.uint8)
DOWN_KINDS: Final = frozenset(
    {Trouble.MISSING, Trouble.NO_PORT, Trouble.SILENT, FaultKind.BLACK_HOLE}
)
SLOW_KINDS: Final = frozenset({FaultKind.SLOW, FaultKind.DELAY, Trouble.WRONG_SPEED})


def state_of_kind(kind: str) -> CableState:
    """Return how a cable with this kind of trouble is shown."""
    if kind in DOWN_KINDS:
        return CableState.DOWN
    return CableState.SLOW if kind in SLOW_KINDS else CableState.DEGRADED


@dataclass(frozen=True, slots=True, eq=False)
class CellBytes:
    """Two bytes a cell: state, and load (0 unknown, 1 idle to 255 the full rate).

    Attributes:
        data: In the layout's order.
        has_loads: Whether loads were read; all are unknown else.
    """

    data: bytes
    has_loads: bool

    @classmethod
    def of(
        cls,
        states: NDArray[np.uint8],
        loads: NDArray[np.uint8] | None,
        *,
        is_seen: NDArray[np.bool_],
    ) -> CellBytes:
        """Return both; the load of a cell that is not seen is unknown."""
        known = np.zeros_like(states) if loads is None else np.where(is_seen, loads, 0)
        both = np.stack([states, known.astype(np.uint8)], axis=1)
        return cls(both.tobytes(), loads is not None)


class CellMap:
    """Which cell of a layout a port, a cable or a part belongs to."""

    def __init__(self, designed: Designed) -> None:
        self.designed = designed

    @cached_property
    def layout(self) -> FabricLayout:
        """The cells."""
        return layout_of(self.designed.fabric)

    @cached_property
    def cell_of_cable(self) -> dict[int, int]:
        """By the cable's number."""
        return {cable: cell for cell, cable in enumerate(self.layout.cables.tolist())}

    @cached_property
    def cell_of_port(self) -> dict[str, int]:
        """By what the store calls a port."""
        plant = self.designed.plant
        return {
            plant.port_name(port): self.cell_of_cable[cable.number]
            for cable in plant.cables
            if cable.number in self.cell_of_cable
            for port in cable.ends
        }

    def cells_of(self, part: PartId) -> list[int]:
        """Return the cells of a part; none where it is no part of the network's cables."""
        try:
            cables = self.designed.plant.cables_of(part)
        except (ValueError, LookupError):
            return []
        return sorted(
            self.cell_of_cable[one.number] for one in cables if one.number in self.cell_of_cable
        )

    @cached_property
    def rate_bps(self) -> NDArray[np.float64]:
        """What the cable of each cell carries one way."""
        rates = {cable.number: cable.rate_bps for cable in self.designed.plant.cables}
        return np.array([rates[cable] for cable in self.layout.cables.tolist()])


def marked(
    states: NDArray[np.uint8], marks: Iterable[tuple[list[int], CableState]]
) -> NDArray[np.uint8]:
    """Return *states* with the cells of each mark at least as bad as it says."""
    found = states.copy()
    for cells, state in marks:
        worse = SEVERITY[found[cells]] < SEVERITY[state]
        found[np.array(cells, dtype=np.int64)[worse]] = state
    return found
