"""Which links leave a vertex, sorted into up, down and sideways by the tiers they join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.routing.ragged import Csr, csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["Adjacency", "adjacency"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjacency:
    """The links that routing may use: those whose cable is up in both directions.

    A cable that works one way only is not used at all: no transport gets by without its
    acknowledgements, and a subnet manager or a routing daemon takes such a port down.

    Attributes:
        up: From a switch to a switch of a higher tier, in order of link id.
        down: From a switch to a switch of a lower tier, in order of (target, link id).
        side: From a switch to a switch of its own tier, in order of link id.
        inside: Between GPUs and scale-up switches of a node, in order of link id.
        doors: From a GPU to its NIC ports, in order of link id.
        edge: For each NIC port the switch it is plugged into; -1 where it has none.
        edge_link: For each NIC port the link to that switch; -1 where it has none.
    """

    up: Csr
    down: Csr
    side: Csr
    inside: Csr
    doors: Csr
    edge: NDArray[np.int32]
    edge_link: NDArray[np.int32]


def adjacency(fabric: Fabric) -> Adjacency:
    """Return the usable links of *fabric*."""
    links = _usable(fabric)
    tier, kind = fabric.vertex_tier, fabric.vertex_kind
    source, target = fabric.link_source[links], fabric.link_target[links]
    switched = (kind[source] == VertexKind.SWITCH) & (kind[target] == VertexKind.SWITCH)
    rise = tier[target] - tier[source]
    in_node = _is_compute(kind[source]) & _is_compute(kind[target])
    door = (kind[source] == VertexKind.GPU) & (kind[target] == VertexKind.NIC)
    edge, edge_link = _edges(fabric, links)
    downward = links[switched & (rise < 0)]
    downward = downward[np.argsort(fabric.link_target[downward], kind="stable")]
    return Adjacency(
        up=_by_source(fabric, links[switched & (rise > 0)]),
        down=_by_source(fabric, downward),
        side=_by_source(fabric, links[switched & (rise == 0)]),
        inside=_by_source(fabric, links[in_node]),
        doors=_by_source(fabric, links[door]),
        edge=edge,
        edge_link=edge_link,
    )


def _usable(fabric: Fabric) -> NDArray[np.int32]:
    up = (fabric.link_state == LinkState.UP).reshape(-1, 2).all(axis=1)
    return np.flatnonzero(np.repeat(up, 2)).astype(np.int32)


def _is_compute(kind: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.isin(kind, (VertexKind.GPU, VertexKind.SCALE_UP))


def _by_source(fabric: Fabric, links: NDArray[np.int32]) -> Csr:
    return csr(fabric.link_source[links], links, num_rows=fabric.num_vertices)


def _edges(fabric: Fabric, links: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    source, target = fabric.link_source[links], fabric.link_target[links]
    plugged = (fabric.vertex_kind[source] == VertexKind.NIC) & (
        fabric.vertex_kind[target] == VertexKind.SWITCH
    )
    ports = source[plugged]
    assert len(np.unique(ports)) == len(ports), "a NIC port has one cable"
    edge = np.full(fabric.num_vertices, -1, dtype=np.int32)
    edge_link = edge.copy()
    edge[ports] = target[plugged]
    edge_link[ports] = links[plugged]
    return edge, edge_link
