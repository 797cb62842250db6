"""The set of links a packet may take next: what adaptive routing and spraying choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.routing.adjacency import adjacency
from netloom.fabric.routing.minimal import between_switches, inside_nodes
from netloom.fabric.routing.ragged import spans
from netloom.fabric.routing.updown import up_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.adjacency import Adjacency
    from netloom.fabric.routing.minimal import Minimal
    from netloom.fabric.routing.router import Router

__all__ = ["RoutingTables", "candidates", "tables"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoutingTables:
    """Everything about a fabric that routing computes once.

    Attributes:
        near: The links in use.
        between: Ways between switches: up*/down*, or minimal where switches of one tier are
            joined (torus, dragonfly+).
        inside: Ways between the GPUs of a node over its scale-up network.
    """

    fabric: Fabric
    near: Adjacency
    between: Router
    inside: Minimal


def tables(fabric: Fabric) -> RoutingTables:
    """Return the routing tables of *fabric* as it is now; links not up are left out."""
    near = adjacency(fabric)
    router = between_switches if len(near.side.links) else up_down
    return RoutingTables(
        fabric=fabric,
        near=near,
        between=router(fabric, near),
        inside=inside_nodes(fabric, near),
    )


def candidates(known: RoutingTables, at: int, to: int) -> NDArray[np.int32]:
    """Return the equal-cost next links from switch *at* towards the NIC port or GPU *to*.

    A GPU with several ports is reached through any of them, so its candidates are those of
    all its ports that this switch reaches.

    Returns:
        Link ids, ascending.

    Raises:
        SpecError: *at* is no switch, or *to* neither a NIC port nor a GPU.
        InfeasibleError: No way from *at* to *to* is left.
    """
    ports = _ports(known, at, to)
    edge = known.near.edge[ports].astype(np.int64)
    here = edge == at
    found = [known.near.edge_link[ports[here]] ^ 1]
    goal = np.unique(edge[~here & (edge >= 0)])
    goal = goal[known.between.cost(np.full(len(goal), at), goal) >= 0]
    for goals, steps in known.between.toward(goal):
        fans = steps.fans(np.full(len(goals), at), goals)
        found.extend(fan.links[spans(fan.start, fan.count)[1]] for fan in fans)
    links = np.unique(np.concatenate(found))
    if not len(links):
        ends = " to ".join(vertex_name(known.fabric, vertex) for vertex in (at, to))
        raise InfeasibleError(
            what=f"{ends}: no path is left", remedy="restore a link or switch between them"
        )
    return links


def _ports(known: RoutingTables, at: int, to: int) -> NDArray[np.int64]:
    fabric = known.fabric
    kind = fabric.vertex_kind[to]
    if fabric.vertex_kind[at] != VertexKind.SWITCH or kind not in (VertexKind.NIC, VertexKind.GPU):
        ends = " to ".join(vertex_name(fabric, vertex) for vertex in (at, to))
        message = f"{ends}: candidates lead from a switch to a NIC port or a GPU"
        raise SpecError(message)
    if kind == VertexKind.NIC:
        return np.array([to], dtype=np.int64)
    doors = known.near.doors
    links = doors.links[doors.offsets[to] : doors.offsets[to + 1]]
    return fabric.link_target[links].astype(np.int64)
