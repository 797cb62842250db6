"""Rows of unequal length in one flat array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Csr", "blocks", "csr", "spans"]

BLOCK = 1 << 20  # entries expanded at a time: tens of MiB of working memory whatever the fabric


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Csr:
    """Links by the vertex they belong to, in compressed rows.

    Attributes:
        offsets: Row v is ``links[offsets[v]:offsets[v + 1]]``.
        links: Link ids.
    """

    offsets: NDArray[np.int64]
    links: NDArray[np.int32]

    def start(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each of the rows begins."""
        return self.offsets[row]

    def count(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how long each of the rows is."""
        return self.offsets[row + 1] - self.offsets[row]


def csr(owner: NDArray[np.int32], links: NDArray[np.int32], *, num_rows: int) -> Csr:
    """Return *links* by *owner*; within a row they keep their order."""
    order = np.argsort(owner, kind="stable")
    offsets = np.zeros(num_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=num_rows), out=offsets[1:])
    return Csr(offsets=offsets, links=links[order])


def spans(
    start: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions ``start[i] .. start[i] + count[i]`` of all i in a row, and each one's i.

    Returns:
        The i that each position belongs to, and the positions.
    """
    owner = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    return owner, np.arange(len(owner)) + np.repeat(start - first, count)


def blocks(count: NDArray[np.int64]) -> Iterator[slice]:
    """Cut queries that expand to *count* entries each into slices of bounded expansion.

    A slice expands to at most ``BLOCK`` entries, or is a single query.
    """
    ends = np.cumsum(count)
    begin = 0
    while begin < len(count):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + BLOCK, side="right")))
        yield slice(begin, end)
        begin = end
