"""A scheduled fabric: virtual output queues, credits of the egress port, cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CellSchedule"]

_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSchedule:
    """How a scheduled fabric lets packets in.

    Attributes:
        grant_bytes: Of a credit. Vendors say a few kilobytes; assumed.
        wait_ps: From a packet's request at the first switch to its credit, when none else waits.
        cell_bytes: Of a cell at most (Jericho and Ramon: 256, as remembered).
        cell_header_bytes: Of these; 12 make the factor of 1.05 that is remembered. Assumed.
        cells_together: Cells of a packet that take one link and are one event; 1 sprays each by
            itself, and takes half as long again (docs/models/packet.md).
        queue_bytes: What the virtual output queues of one switch hold in its deep buffer; beyond,
            packets stay in the buffers of its ports. Assumed.
        reassembly_ps: For which a packet that misses cells may hold up whole ones behind it before
            it is given up. Assumed.
    """

    grant_bytes: int = 4096
    wait_ps: int = 0
    cell_bytes: int = 256
    cell_header_bytes: int = 12
    cells_together: int = 2
    queue_bytes: int = 1 << 30
    reassembly_ps: int = 50 * _US

    def __post_init__(self) -> None:
        """Refuse a fabric in which nothing could move."""
        if self.grant_bytes < 1 or not 0 <= self.cell_header_bytes < self.cell_bytes:
            raise SpecError(
                key="schedule",
                what=(
                    f"credits of {self.grant_bytes} bytes and cells of {self.cell_bytes} "
                    f"with headers of {self.cell_header_bytes} carry nothing"
                ),
                remedy="enlarge them",
            )
        if self.cells_together < 1:
            raise SpecError(
                key="schedule",
                what=f"{self.cells_together} cells a piece",
                remedy="send at least 1 together",
            )

    def dressed_bytes(self, size_bytes: int) -> int:
        """Return what a packet of *size_bytes* takes in cells."""
        cells = -(-size_bytes // (self.cell_bytes - self.cell_header_bytes))
        return size_bytes + cells * self.cell_header_bytes

    def piece_bytes(self, size_bytes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest piece, cells' headers included, that packets are sent in."""
        cells = -(-size_bytes // (self.cell_bytes - self.cell_header_bytes))
        pieces = -(-cells // self.cells_together)
        # Piece k ends with cell (k + 1) cells / pieces, rounded down: where one is left over, the
        # last piece alone has it. That piece is as long as what is left, all others are full.
        before = cells * (pieces - 1) // pieces
        last = size_bytes + cells * self.cell_header_bytes - before * self.cell_bytes
        each = np.where(cells % pieces == 1, cells // pieces, -(-cells // pieces))
        return np.maximum(last, np.where(pieces > 1, each * self.cell_bytes, 0.0))
