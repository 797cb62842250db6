"""Which parts of a fabric look alike, so that one can stand for all.

Vertices are coloured by what they are and refined by what their links lead to until no colour
splits any more (colour refinement, the one-dimensional Weisfeiler-Leman test). Parts that a
symmetry of the network maps onto one another always get the same colour. The converse does not
hold for every graph, so users of a class check more than one of its members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

    Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

__all__ = ["cable_colours", "node_colours", "vertex_colours"]

_ONE = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64: Steele, Lea and Flood (2014)
_TWO = np.uint64(0xBF58476D1CE4E5B9)
_THREE = np.uint64(0x94D049BB133111EB)


def vertex_colours(
    fabric: Fabric,
    labels: Sequence[NDArray[np.float64]] = (),
    pairs: Sequence[Pairs] = (),
) -> NDArray[np.uint64]:
    """Return a number for each vertex; vertices that look alike have the same.

    Args:
        fabric: State and slowdown of its links count as what they are.
        labels: Numbers of each link that must agree as well, to seven digits.
        pairs: Sources and targets (vertices) of what is sent, one kind of traffic each.
    """
    link = _link_labels(fabric, labels)
    around = _around(fabric, link, pairs)
    colour = _mixed(fabric.vertex_kind.astype(np.uint64), fabric.vertex_tier.astype(np.uint64))
    num_colours = 0
    while (found := len(np.unique(colour))) > num_colours:
        num_colours = found
        total = np.zeros(fabric.num_vertices, dtype=np.uint64)
        for at, label, to in around:
            np.add.at(total, at, _mixed(label, colour[to]))
        colour = _mixed(colour, total)
    return colour


def cable_colours(
    fabric: Fabric, colour: NDArray[np.uint64], labels: Sequence[NDArray[np.float64]] = ()
) -> NDArray[np.uint64]:
    """Return a number for each cable; cables that look alike have the same."""
    link = _mixed(_link_labels(fabric, labels), colour[fabric.link_source])
    link = _mixed(link, colour[fabric.link_target])
    return _mixed(link[::2], link[1::2])


def node_colours(fabric: Fabric, colour: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each node; nodes that look alike have the same."""
    inside = np.flatnonzero(fabric.vertex_node >= 0)
    total = np.zeros(fabric.design.num_nodes, dtype=np.uint64)
    np.add.at(total, fabric.vertex_node[inside], _mixed(colour[inside], colour[inside]))
    return total


def _link_labels(fabric: Fabric, labels: Sequence[NDArray[np.float64]]) -> NDArray[np.uint64]:
    link = _mixed(fabric.link_state.astype(np.uint64), _digits(fabric.link_rate_bps))
    link = _mixed(link, _digits(fabric.link_slowdown.astype(np.float64)))
    for label in labels:
        link = _mixed(link, _digits(label))
    return link


def _around(
    fabric: Fabric, link: NDArray[np.uint64], pairs: Sequence[Pairs]
) -> list[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]]:
    """Return what each vertex sees: the vertices at the other ends, and how they are joined."""
    source, target = fabric.link_source.astype(np.int64), fabric.link_target.astype(np.int64)
    back = link.reshape(-1, 2)[:, ::-1].ravel()
    around = [(source, _mixed(link, back), target)]
    for number, (sender, receiver) in enumerate(pairs):
        for turn, (at, to) in enumerate(((sender, receiver), (receiver, sender))):
            label = np.full(len(at), 1000 + 2 * number + turn, dtype=np.uint64)
            around.append((at, label, to))
    return around


def _digits(value: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the bits of *value* without the last that rounding may have changed."""
    return (value + 0.0).astype(np.float32).view(np.uint32).astype(np.uint64)


def _mixed(one: NDArray[np.uint64], other: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    key = one * _ONE + (other ^ _THREE) * _TWO
    key = (key ^ (key >> np.uint64(30))) * _TWO
    key = (key ^ (key >> np.uint64(27))) * _THREE
    return np.asarray(key ^ (key >> np.uint64(31)))
