"""Every cable of a fabric as a cell: blocks of rows and columns, in the order of pods and tiers.

A picture of a fabric knows no topology: it draws blocks. A row is a switch, its cells are its
cables: those to hosts in one block, those upwards in another, sorted by what they lead to, so
that a dead spine is a stripe through all blocks. Blocks of switches that reach one another
without the top tier make a pod; where that says nothing (two tiers, a torus, a dragonfly, a
fabric that was discovered), switches are taken in groups by their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["CellBlock", "FabricLayout", "layout_of", "layout_of_links"]

MAX_GROUP: Final = 32  # rows of a block where a fabric has no pods
ENDPOINTS: Final = frozenset({"gpu", "nic", "host"})
MAX_POD: Final = 512  # switches; a larger component is cut into groups


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBlock:
    """Cells of some switches of one tier.

    Attributes:
        pod: Which pod they stand in, from 0.
        tier: The tier's name, such as ``leaf``.
        faces: ``hosts`` or ``up``: where their cables lead.
        rows: The switches, by name.
        lengths: Cells of each row.
        first: The number of the first cell.
    """

    pod: int
    tier: str
    faces: str
    rows: tuple[str, ...]
    lengths: tuple[int, ...]
    first: int

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents; one length where all are equal."""
        even = len(set(self.lengths)) == 1
        return {
            "pod": self.pod,
            "tier": self.tier,
            "faces": self.faces,
            "rows": list(self.rows),
            "columns": self.lengths[0] if even else list(self.lengths),
            "first": self.first,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FabricLayout:
    """All cells of a fabric.

    Attributes:
        pods: A title for each pod.
        blocks: In the order of pods, then from hosts upwards.
        cables: The cable of each cell.
    """

    pods: tuple[str, ...]
    blocks: tuple[CellBlock, ...]
    cables: NDArray[np.int64]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents."""
        return {
            "num_cells": len(self.cables),
            "pods": list(self.pods),
            "blocks": [block.to_json() for block in self.blocks],
        }


def layout_of(fabric: Fabric) -> FabricLayout:
    """Return the cells of *fabric*'s scale-out cables."""
    lower, upper = fabric.link_source[0::2], fabric.link_target[0::2]
    cables = np.flatnonzero(_is_network(fabric, lower) & _is_network(fabric, upper))
    lower, upper = lower[cables], upper[cables]
    to_host = fabric.vertex_kind[lower] == VertexKind.NIC
    row = np.where(to_host & (fabric.vertex_kind[upper] == VertexKind.SWITCH), upper, lower)
    peer = np.where(row == lower, upper, lower)
    pod_of, titles = _pods(fabric, lower, upper)
    order = np.lexsort((cables, peer, row, ~to_host, fabric.vertex_tier[row], pod_of[row]))
    tiers = [tier.name for tier in fabric.design.tiers]
    named = _NamedTiers(vertex_names(fabric), tiers, fabric.vertex_tier.astype(np.int64))
    blocks = _blocks(named, row[order], to_host[order], pod_of)
    return FabricLayout(pods=titles, blocks=blocks, cables=cables[order])


def layout_of_links(
    names: tuple[str, ...], source: NDArray[np.int32], target: NDArray[np.int32]
) -> FabricLayout:
    """Return the cells of any links, of which two and two are the directions of a cable.

    Tiers are the kinds of names (``leaf`` of ``leaf:3``), by how far they are from the endpoints.
    """
    lower, upper = source[0::2], target[0::2]
    level = _levels(names, lower, upper)
    lower, upper = (
        np.where(level[lower] <= level[upper], lower, upper),
        np.where(level[lower] <= level[upper], upper, lower),
    )
    to_host = level[lower] == 0
    row, peer = np.where(to_host, upper, lower), np.where(to_host, lower, upper)
    kinds = np.array([name.partition(":")[0] for name in names])
    ranks = sorted({(int(level[one]), str(kinds[one])) for one in np.unique(row).tolist()})
    number = {rank: index for index, rank in enumerate(ranks, 1)}
    tier = np.array(
        [number.get((int(level[one]), str(kinds[one])), 0) for one in range(len(names))],
        dtype=np.int64,
    )
    pod_of, titles = _groups(names, tier, np.unique(row).astype(np.int64))
    cables = np.arange(len(lower))
    order = np.lexsort((cables, peer, row, ~to_host, tier[row], pod_of[row]))
    named = _NamedTiers(names, [kind for _, kind in ranks], tier)
    blocks = _blocks(named, row[order].astype(np.int32), to_host[order], pod_of)
    return FabricLayout(pods=titles, blocks=blocks, cables=cables[order])


def _levels(
    names: tuple[str, ...], lower: NDArray[np.int32], upper: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return how many links each vertex is from the nearest endpoint."""
    far = len(names)
    is_end = np.array([name.partition(":")[0] in ENDPOINTS for name in names])
    level = np.where(is_end, 0, far)
    while True:
        nearer = level.copy()
        np.minimum.at(nearer, upper, level[lower] + 1)
        np.minimum.at(nearer, lower, level[upper] + 1)
        if np.array_equal(nearer, level):
            return level
        level = nearer


def _is_network(fabric: Fabric, vertices: NDArray[np.int32]) -> NDArray[np.bool_]:
    kind = fabric.vertex_kind[vertices]
    return np.isin(kind, (VertexKind.NIC, VertexKind.SWITCH))


def _pods(
    fabric: Fabric, lower: NDArray[np.int32], upper: NDArray[np.int32]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the pod of every vertex that can be a row, and the pods' titles."""
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    top = int(fabric.vertex_tier[is_switch].max(initial=0))
    label = np.arange(fabric.num_vertices, dtype=np.int64)
    below = is_switch & (fabric.vertex_tier < top)
    joined = below[lower] & below[upper]
    _join(label, lower[joined], upper[joined])
    rows = np.flatnonzero(is_switch)
    sizes = np.bincount(label[np.flatnonzero(below)], minlength=1)
    if not joined.any() or sizes.max(initial=0) > MAX_POD:
        return _grouped(fabric, rows)
    _, number = np.unique(np.where(below, label, -1), return_inverse=True)
    pod = np.where(below, number - 1, number.max())
    titles = [f"pod {index}" for index in range(int(number.max()))]
    return pod.astype(np.int64), (*titles, "top")


def _join(label: NDArray[np.int64], one: NDArray[np.int32], other: NDArray[np.int32]) -> None:
    """Give all vertices that links join the smallest label among them."""
    while True:
        least = np.minimum(label[one], label[other])
        if np.array_equal(least, label[one]) and np.array_equal(least, label[other]):
            return
        np.minimum.at(label, one, least)
        np.minimum.at(label, other, least)


def _grouped(fabric: Fabric, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return groups of switches, tier by tier, in the order of their numbers."""
    return _groups(vertex_names(fabric), fabric.vertex_tier.astype(np.int64), rows)


def _groups(
    names: tuple[str, ...], tier_of: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    pod = np.zeros(len(names), dtype=np.int64)
    titles: list[str] = []
    for tier in np.unique(tier_of[rows]).tolist():
        members = rows[tier_of[rows] == tier]
        for first in range(0, len(members), MAX_GROUP):
            some = members[first : first + MAX_GROUP]
            pod[some] = len(titles)
            ends = names[some[0]], names[some[-1]]
            titles.append(ends[0] if len(some) == 1 else f"{ends[0]} to {ends[1]}")
    return pod, tuple(titles) or ("all",)


@dataclass(frozen=True, slots=True, eq=False)
class _NamedTiers:
    """What rows are called: the name of each vertex, of each tier from 1, and its tier."""

    vertices: tuple[str, ...]
    tiers: list[str]
    tier_of: NDArray[np.int64]


def _blocks(
    named: _NamedTiers,
    row: NDArray[np.int32],
    to_host: NDArray[np.bool_],
    pod_of: NDArray[np.int64],
) -> tuple[CellBlock, ...]:
    """Return the blocks of cells that are in order."""
    if not len(row):
        return ()
    key = np.stack([pod_of[row], named.tier_of[row], ~to_host], axis=1)
    starts = _starts(np.any(key[1:] != key[:-1], axis=1))
    ends = [*starts[1:], len(row)]
    return tuple(
        _block(named, row[start:end], key[start].tolist(), start)
        for start, end in zip(starts, ends, strict=True)
    )


def _block(named: _NamedTiers, row: NDArray[np.int32], key: list[int], first: int) -> CellBlock:
    pod, tier, is_up = key
    names, tiers = named.vertices, named.tiers
    starts = _starts(row[1:] != row[:-1])
    return CellBlock(
        pod=pod,
        tier=tiers[tier - 1] if 0 < tier <= len(tiers) else "host",
        faces="up" if is_up else "hosts",
        rows=tuple(names[vertex] for vertex in row[starts].tolist()),
        lengths=tuple(np.diff([*starts, len(row)]).tolist()),
        first=first,
    )


def _starts(changes: NDArray[np.bool_]) -> list[int]:
    """Return where runs begin, given where one element differs from the one before."""
    return [0, *(np.flatnonzero(changes) + 1).tolist()]
