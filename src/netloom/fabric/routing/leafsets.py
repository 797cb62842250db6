"""Sets of edge switches, each distinct set stored once.

A regular fabric has few distinct sets (each leaf, each pod, everything), so what every switch
reaches fits in memory even where switches times leaves would not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LeafSets"]


class LeafSets:
    """A growing table of sets of the numbers 0 to ``num_leaves - 1``.

    Set i is ``{i}`` for every i below ``num_leaves``; the empty set comes next.
    """

    def __init__(self, num_leaves: int) -> None:
        self.num_leaves = num_leaves
        self.empty = num_leaves
        self._rows: list[NDArray[np.uint8]] = []
        self._by_row: dict[bytes, int] = {}
        self._by_parts: dict[bytes, int] = {}
        self._add(np.zeros(-(-num_leaves // 8), dtype=np.uint8))

    def union(self, parts: NDArray[np.int64]) -> int:
        """Return the set that is the union of the sets *parts* (sorted, each once)."""
        if len(parts) == 1:
            return int(parts[0])
        key = parts.tobytes()
        if key not in self._by_parts:
            self._by_parts[key] = self._add(self._joined(parts))
        return self._by_parts[key]

    def table(self) -> NDArray[np.uint8]:
        """Return the bits of every set that is not ``{i}``, a row each, lowest bit first."""
        return np.stack(self._rows)

    def _joined(self, parts: NDArray[np.int64]) -> NDArray[np.uint8]:
        row = np.zeros(len(self._rows[0]), dtype=np.uint8)
        single = parts[parts < self.num_leaves]
        np.bitwise_or.at(row, single >> 3, (1 << (single & 7)).astype(np.uint8))
        for part in parts[parts >= self.num_leaves]:
            np.bitwise_or(row, self._rows[part - self.num_leaves], out=row)
        return row

    def _add(self, row: NDArray[np.uint8]) -> int:
        key = row.tobytes()
        if key not in self._by_row:
            self._by_row[key] = self.num_leaves + len(self._rows)
            self._rows.append(row)
        return self._by_row[key]
