"""Pauses as a tree: whose pause made a switch pause its own neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.study.simulation import Simulation

__all__ = ["pause_tree"]

MAX_ROWS: Final = 60


def pause_tree(found: Simulation) -> list[tuple[int, str, int, str, int]]:
    """Return who was paused, as rows of depth, ends, links, time paused and number of pauses.

    Links into a switch are paused because the switch is full; where it is full because links out
    of it were paused before, those stand above. The roots are pauses that no other explains:
    where congestion began. Parallel links are one row.
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
        for child in (number for number, above in enumerate(parent) if above == at):
            add(child, depth + 1)

    for root in (number for number, above in enumerate(parent) if above < 0):
        add(root, 0)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """The pauses of all links from one vertex to another.

    Attributes:
        total_ps: How long they were paused, the links' times added up.
    """

    source: int
    target: int
    first_ps: int
    total_ps: int
    num_links: int
    num_pauses: int


def _by_pair(found: Simulation, table: Mapping[str, NDArray[np.generic]]) -> list[_Pair]:
    """Return the pairs in the order of their first pauses."""
    link = table["link"].astype(np.int64)
    begin, end = table["begin_ps"].astype(np.int64), table["end_ps"].astype(np.int64)
    end = np.where(end < 0, found.first.delivery.simulated_ps, end)
    source, target = found.grid.link_source[link], found.grid.link_target[link]
    key = source.astype(np.int64) * len(found.grid.name) + target
    pairs = []
    for one in np.unique(key).tolist():
        mine = np.flatnonzero(key == one)
        pairs.append(
            _Pair(
                source=int(source[mine[0]]),
                target=int(target[mine[0]]),
                first_ps=int(begin[mine].min()),
                total_ps=int((end[mine] - begin[mine]).sum()),
                num_links=len(np.unique(link[mine])),
                num_pauses=len(mine),
            )
        )
    return sorted(pairs, key=lambda pair: (pair.first_ps, pair.source, pair.target))


def _parents(pairs: list[_Pair]) -> list[int]:
    """Return for each pair the latest one before it that leaves the vertex it enters; or -1."""
    latest: dict[int, int] = {}
    parent = []
    for number, pair in enumerate(pairs):
        parent.append(latest.get(pair.target, -1))
        latest[pair.source] = number
    return parent
