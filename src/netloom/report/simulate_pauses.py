"""Pauses as a tree: whose pause made a switch pause its own neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.study.simulation import Simulation

__all__ = ["pause_tree"]

MAX_ROWS: Final = 60


def pause_tree(found: Simulation) -> list[tuple[int, str, str, int]]:
    """Return paused links as rows of depth, name, time paused and number of pauses.

    A link into a switch is paused because the switch is full; where the switch is full because a
    link out of it was paused before, that link stands above it. The roots are links nobody's
    pause explains: where congestion began.
    """
    table = found.first.delivery.tables.get("pauses")
    if table is None or not len(table["link"]):
        return []
    links, first, total, count = _by_link(table)
    parent = _parents(found, links, first)
    rows: list[tuple[int, str, str, int]] = []

    def add(at: int, depth: int) -> None:
        if len(rows) >= MAX_ROWS:
            return
        time = format_quantity(float(total[at]) * 1e-12, TIME)
        rows.append((depth, found.grid.link(int(links[at])), time, int(count[at])))
        for child in np.flatnonzero(parent == at).tolist():
            add(child, depth + 1)

    for root in np.flatnonzero(parent < 0).tolist():
        add(root, 0)
    return rows


def _by_link(
    table: dict[str, NDArray[np.generic]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the paused links by first pause, with that, the time paused and how often."""
    links, place = np.unique(table["link"].astype(np.int64), return_inverse=True)
    begin, end = table["begin_ps"].astype(np.int64), table["end_ps"].astype(np.int64)
    first = np.full(len(links), np.iinfo(np.int64).max)
    np.minimum.at(first, place, begin)
    total = np.zeros(len(links), dtype=np.int64)
    np.add.at(total, place, np.maximum(end - begin, 0))
    count = np.bincount(place, minlength=len(links))
    order = np.lexsort((links, first))
    return links[order], first[order], total[order], count[order]


def _parents(
    found: Simulation, links: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each paused link the latest one before it that leaves the switch it enters."""
    source, target = found.grid.link_source[links], found.grid.link_target[links]
    parent = np.full(len(links), -1, dtype=np.int64)
    for at in range(len(links)):
        before = np.flatnonzero((source[:at] == target[at]) & (first[:at] < first[at]))
        if len(before):
            parent[at] = before[-1]
    return parent
