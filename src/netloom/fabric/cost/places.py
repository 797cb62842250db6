"""The rack that each node and switch of a built fabric stands in, and each cable's length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.cost.layout import lay_out
from netloom.fabric.graph import VertexKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.cost.hall import Hall
    from netloom.fabric.cost.layout import FloorLayout
    from netloom.fabric.graph import Fabric
    from netloom.spec.scenario import Floor

__all__ = ["Places", "place"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Where everything stands.

    Attributes:
        rack: Of each vertex; what is inside a node stands where the node does.
        cable_m: Length of each cable between NICs and switches, in whole metres rounded up; 0
            inside a node.
    """

    hall: Hall
    rack: NDArray[np.int64]
    cable_m: NDArray[np.float64]


def place(fabric: Fabric, floor: Floor, *, per_rack: int) -> Places:
    """Return the places of *fabric* on *floor*, with *per_rack* nodes in a rack."""
    layout = lay_out(fabric.design, floor, per_rack=per_rack)
    rack = _racks(fabric, layout)
    one, other = fabric.link_source[::2], fabric.link_target[::2]
    length_m = np.ceil(layout.hall.length_m(rack[one], rack[other]) - 1e-9)
    outside = (fabric.vertex_kind[one] == VertexKind.SWITCH) | (
        fabric.vertex_kind[other] == VertexKind.SWITCH
    )
    return Places(hall=layout.hall, rack=rack, cable_m=np.where(outside, length_m, 0.0))


def _racks(fabric: Fabric, layout: FloorLayout) -> NDArray[np.int64]:
    """Return each vertex's rack: switches fill the racks of their tier in the order they serve."""
    rack = np.full(fabric.num_vertices, -1, dtype=np.int64)
    inside = fabric.vertex_node >= 0
    rack[inside] = layout.racks["node"][fabric.vertex_node[inside]]
    anchor = fabric.vertex_node.astype(np.float64)
    for level, tier in enumerate(fabric.design.tiers, start=1):
        of_tier = (fabric.vertex_kind == VertexKind.SWITCH) & (fabric.vertex_tier == level)
        switches = np.flatnonzero(of_tier)
        anchor[switches] = _anchors(fabric, anchor, level)[switches]
        slots = layout.racks[tier.name]
        order = switches[np.argsort(anchor[switches], kind="stable")]
        rack[order] = slots[np.arange(len(order)) * len(slots) // len(order)]
    return rack


def _anchors(fabric: Fabric, anchor: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """Return for each vertex the mean anchor of what is cabled to it from below *level*."""
    up = fabric.vertex_tier[fabric.link_target] == level
    up &= fabric.vertex_tier[fabric.link_source] == level - 1
    target = fabric.link_target[up]
    total = np.bincount(
        target, weights=anchor[fabric.link_source[up]], minlength=fabric.num_vertices
    )
    count = np.bincount(target, minlength=fabric.num_vertices)
    return total / np.maximum(count, 1)
