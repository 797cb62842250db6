"""The network as built: vertices and directed links, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from netloom.fabric.design import Design

__all__ = ["Fabric", "LinkState", "VertexKind"]


class VertexKind(IntEnum):
    """What stands at a vertex."""

    GPU = 0
    NIC = 1
    SCALE_UP = 2  # an NVSwitch plane or a PCIe switch inside a node
    SWITCH = 3


class LinkState(IntEnum):
    """Whether a link carries traffic."""

    UP = 0
    DRAINED = 1  # works, but routing avoids it
    DOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fabric:
    """Vertices and directed links; all arrays are read-only.

    Vertices are numbered GPUs first (GPU g of the cluster is vertex g), then NIC ports (by node,
    NIC, plane), then scale-up switches, then switches tier by tier from the hosts up, in each
    tier plane by plane. A cable is two links: cable c is link 2c from its lower end to its upper
    end, and link 2c + 1 back.

    Attributes:
        design: The plan this was built from.
        vertex_kind: VertexKind of each vertex.
        vertex_tier: 0 for GPUs, NICs and scale-up switches; switches count from 1.
        vertex_node: The machine a vertex sits in; -1 for switches.
        vertex_plane: The plane a NIC port or switch belongs to (0 for others).
        vertex_rail: The rail a NIC port or leaf belongs to; -1 where rails are not apart.
        link_source: Vertex each link leaves.
        link_target: Vertex each link enters.
        link_rate_bps: One direction, nominal.
        link_slowdown: 1, or more on a link that was slowed.
        link_state: LinkState of each link.
    """

    design: Design
    vertex_kind: NDArray[np.uint8]
    vertex_tier: NDArray[np.int8]
    vertex_node: NDArray[np.int32]
    vertex_plane: NDArray[np.int16]
    vertex_rail: NDArray[np.int16]
    link_source: NDArray[np.int32]
    link_target: NDArray[np.int32]
    link_rate_bps: NDArray[np.float64]
    link_slowdown: NDArray[np.float32]
    link_state: NDArray[np.uint8]

    @property
    def num_vertices(self) -> int:
        """Vertices in all."""
        return len(self.vertex_kind)

    @property
    def num_links(self) -> int:
        """Directed links in all."""
        return len(self.link_source)
