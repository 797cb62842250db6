"""Pauses as a tree: whose pause made a switch pause its own neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.study.simulate.simulation import Simulation

__all__ = ["pause_tree"]

MAX_ROWS: Final = 60
NO_CAUSE: Final = -1  # made the roots pause


def pause_tree(found: Simulation) -> list[tuple[int, str, int, str, int]]:
    """Return who was paused, as rows of depth, ends, links, time paused and number of pauses.

    Links into a switch are paused because the switch is full; where it is full because links out
    of it are paused, or were a moment ago, in the same priority, those stand above. The roots are
    pauses that no other explains for most of their time: where congestion began. Parallel links are
    one row; of several rows the longest comes first.
    """
    table = found.first.delivery.tables.get("pauses")
    if table is None or not len(table["link"]):
        return []
    pairs = _by_pair(found, table)
    parent = _parents(pairs)
    rows: list[tuple[int, str, int, str, int]] = []

    def add(at: int, depth: int) -> None:
        if len(rows) >= MAX_ROWS:
            return
        pair = pairs[at]
        ends = f"{found.grid.name[pair.source]}->{found.grid.name[pair.target]}"
        time = format_quantity(pair.total_ps * 1e-12, TIME)
        rows.append((depth, ends, pair.num_links, time, pair.num_pauses))
        for child in below(at):
            add(child, depth + 1)

    def below(at: int) -> list[int]:
        found = [number for number, above in enumerate(parent) if above == at]
        return sorted(found, key=lambda number: -pairs[number].total_ps)

    for root in below(NO_CAUSE):
        add(root, 0)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pair:
    """The pauses of all links from one vertex to another, in the order of their beginnings."""

    source: int
    target: int
    num_links: int
    begin_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]
    priority: NDArray[np.int64]

    @property
    def first_ps(self) -> int:
        """When the first of them began."""
        return int(self.begin_ps[0])

    @property
    def total_ps(self) -> int:
        """How long they were paused, the links' times added up."""
        return int((self.end_ps - self.begin_ps).sum())

    @property
    def num_pauses(self) -> int:
        """How many there are."""
        return len(self.begin_ps)


def _by_pair(found: Simulation, table: Mapping[str, NDArray[np.generic]]) -> list[_Pair]:
    """Return the pairs in the order of their first pauses."""
    link, begin, end, priority = (
        table[name].astype(np.int64) for name in ("link", "begin_ps", "end_ps", "priority")
    )
    end = np.where(end < 0, found.first.delivery.simulated_ps, end)
    source, target = found.grid.link_source[link], found.grid.link_target[link]
    key = source.astype(np.int64) * len(found.grid.name) + target
    order = np.lexsort((begin, key))
    pairs = [
        _Pair(
            source=int(source[mine[0]]),
            target=int(target[mine[0]]),
            num_links=len(np.unique(link[mine])),
            begin_ps=begin[mine],
            end_ps=end[mine],
            priority=priority[mine],
        )
        for mine in np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    ]
    return sorted(pairs, key=lambda pair: (pair.first_ps, pair.source, pair.target))


def _parents(pairs: list[_Pair]) -> list[int]:
    """Return for each pair the one that explains most of its time, if that is half at least.

    It begins before and leaves the vertex that the pair enters; of equals it is the latest.
    """
    leaving: dict[int, list[int]] = {}
    parent = []
    for number, pair in enumerate(pairs):
        times = [(_explained_ps(pair, pairs[at]), at) for at in leaving.get(pair.target, [])]
        explained_ps, above = max(times, default=(0, NO_CAUSE))
        parent.append(above if 2 * explained_ps >= max(pair.total_ps, 1) else NO_CAUSE)
        leaving.setdefault(pair.source, []).append(number)
    return parent


def _explained_ps(pair: _Pair, above: _Pair) -> int:
    """Return how long the pauses of *pair* last that begin while *above* is to blame.

    That is while it is paused in the same priority and as long again: what a pause has gathered
    takes no longer to leave than to come.
    """
    found = 0
    for priority in np.unique(pair.priority).tolist():
        mine, other = pair.priority == priority, above.priority == priority
        if not other.any():
            continue
        begin, end = above.begin_ps[other], above.end_ps[other]
        blamed_until = np.maximum.accumulate(2 * end - begin)
        last = np.searchsorted(begin, pair.begin_ps[mine], side="right") - 1
        blamed = (last >= 0) & (blamed_until[last] >= pair.begin_ps[mine])
        found += int((pair.end_ps[mine] - pair.begin_ps[mine])[blamed].sum())
    return found
