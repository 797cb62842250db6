"""What every way of finding the next link has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from netloom.fabric.routing.ragged import Csr, blocks, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Keep = Callable[[NDArray[np.int64], NDArray[np.int32]], NDArray[np.bool_]]

__all__ = ["Fan", "Router", "Steps", "filtered"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fan:
    """The next links of some of the queries that were asked together.

    Attributes:
        where: Which queries these are.
        start: For each of them, where its candidates begin in *links*.
        count: For each of them, how many there are; never 0.
        links: Link ids, those of one query in ascending order.
        whole: Whether *links* is the router's own array of up-links, every one a candidate.
    """

    where: NDArray[np.int64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    links: NDArray[np.int32]
    whole: bool = False


class Steps(Protocol):
    """Finds next links towards goals that were announced before."""

    def fans(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> Iterator[Fan]:
        """Yield the equal-cost next links of each query, every query in one fan.

        ``at`` differs from ``goal`` in every query, and the goal can be reached.
        """
        ...


class Router(Protocol):
    """Knows the equal-cost ways between the vertices of one part of a fabric."""

    def cost(self, at: NDArray[np.int64], goal: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how far each goal is, in a measure that orders all queries; -1 for never."""
        ...

    def toward(self, goals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Steps]]:
        """Yield batches that fit in memory: goals (sorted, each once) and the steps to them."""
        ...


def filtered(
    rows: Csr, at: NDArray[np.int64], where: NDArray[np.int64], keep: Keep
) -> Iterator[Fan]:
    """Yield, for the queries *where* at the vertices *at*, the links of their rows that pass.

    Args:
        rows: Links by vertex, each row in the order the candidates shall have.
        at: The vertex of each query.
        where: The number of each query, as the fans shall name it.
        keep: Given positions in *at* and a link for each, says whether it is a candidate.
    """
    count = rows.count(at)
    for block in blocks(count):
        owner, position = spans(rows.start(at[block]), count[block])
        links = rows.links[position]
        passed = keep(owner + block.start, links)
        yield _fan(where[block], owner[passed], links[passed])


def _fan(where: NDArray[np.int64], owner: NDArray[np.int64], links: NDArray[np.int32]) -> Fan:
    order = np.lexsort((links, owner))
    count = np.bincount(owner, minlength=len(where)).astype(np.int64)
    assert count.all(), "a query without a next link"
    return Fan(where=where, start=np.cumsum(count) - count, count=count, links=links[order])
