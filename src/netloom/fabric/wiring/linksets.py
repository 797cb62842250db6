"""Sets of next links, each distinct set stored once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EMPTY", "LinkSets"]

EMPTY = 0  # the number of the set without links


class LinkSets:
    """A growing table of sets of links; equal sets have one number."""

    def __init__(self, num_links: int) -> None:
        self._single = np.full(num_links, -1, dtype=np.int32)
        self._number: dict[bytes, int] = {}
        self._rows: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32)]

    def singles(self, links: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return for each link the number of the set that holds it alone."""
        fresh = np.unique(links[self._single[links] < 0])
        self._single[fresh] = len(self._rows) + np.arange(len(fresh), dtype=np.int32)
        self._rows.extend(fresh.reshape(-1, 1))
        return self._single[links]

    def rows(
        self, start: NDArray[np.int64], count: NDArray[np.int64], links: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return the numbers of the sets ``links[start[i]:start[i] + count[i]]``."""
        key = np.stack([start, count], axis=1)
        spans, inverse = np.unique(key, axis=0, return_inverse=True)
        numbers = [self.one(links[begin : begin + length]) for begin, length in spans.tolist()]
        return np.array(numbers, dtype=np.int32)[inverse.reshape(-1)]

    def one(self, links: NDArray[np.int32]) -> int:
        """Return the number of the set of *links*."""
        if len(links) == 0:
            return EMPTY
        if len(links) == 1:
            return int(self.singles(links)[0])
        members = np.unique(links)
        key = members.tobytes()
        if key not in self._number:
            self._number[key] = len(self._rows)
            self._rows.append(members)
        return self._number[key]

    def union(self, numbers: list[int]) -> int:
        """Return the number of the set that holds the links of all sets *numbers*."""
        return self.one(np.concatenate([self._rows[number] for number in numbers]))

    def table(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where each set begins, with the end of the last, and the links."""
        offsets = np.zeros(len(self._rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in self._rows], out=offsets[1:])
        return offsets, np.concatenate(self._rows)
