"""Ways inside a node, added to those between nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.routing.ragged import csr, spans
from netloom.fabric.wiring.nexthops import NextHops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.candidates import RoutingTables

__all__ = ["add_scale_up"]


def add_scale_up(
    known: RoutingTables,
    hops: NextHops,
    *,
    new_vertex: NDArray[np.int64],
    new_link: NDArray[np.int32],
) -> NextHops:
    """Return *hops* with a goal for each GPU, reached inside its node where that is possible.

    GPUs do not forward: one whose only scale-up way leads through a third keeps the way it had.
    """
    fabric = known.fabric
    choices = hops.choices[:, hops.goal]
    here, gpu = _pairs(known)
    for batch, steps in known.inside.toward(gpu):
        mine = np.flatnonzero((gpu >= batch[0]) & (gpu <= batch[-1]))
        for fan in steps.fans(here[mine], gpu[mine]):
            which = mine[fan.where]
            after = fabric.link_target[fan.links[fan.start]]
            fine = (after == gpu[which]) | (fabric.vertex_kind[after] != VertexKind.GPU)
            found = hops.sets.rows(fan.start[fine], fan.count[fine], new_link[fan.links])
            choices[new_vertex[here[which[fine]]], gpu[which[fine]]] = found
    goal = np.arange(fabric.design.num_gpus, dtype=np.int32)
    return NextHops(goal=goal, choices=choices, sets=hops.sets)


def _pairs(known: RoutingTables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each vertex of a node with each GPU of it that it reaches inside."""
    fabric = known.fabric
    node = fabric.vertex_node
    gpus = np.flatnonzero(fabric.vertex_kind == VertexKind.GPU).astype(np.int32)
    rows = csr(node[gpus], gpus, num_rows=int(node.max(initial=0)) + 1)
    inside = np.isin(fabric.vertex_kind, (VertexKind.GPU, VertexKind.SCALE_UP))
    at = np.flatnonzero(inside)
    row = node[at].astype(np.int64)
    owner, position = spans(rows.start(row), rows.count(row))
    here, gpu = at[owner], rows.links[position].astype(np.int64)
    apart = here != gpu
    here, gpu = here[apart], gpu[apart]
    joined = known.inside.cost(here, gpu) >= 0
    return here[joined], gpu[joined]
