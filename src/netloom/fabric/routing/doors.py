"""Through which NIC ports two GPUs talk, and which GPU hands the data to the NIC.

A GPU uses its own NIC. Where rails are wired apart and it has none on the rail of the other
end, the data first crosses the scale-up network to the GPU of its node that has one; NCCL
calls this PXN (https://developer.nvidia.com/blog/doubling-all2all-performance-with-nvidia-collective-communication-library-2-12/).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import InfeasibleError
from netloom.fabric.names import vertex_name
from netloom.fabric.routing.ragged import Csr, blocks, csr, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Flows

__all__ = ["NicPairs", "ends"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NicPairs:
    """Pairs of NIC ports, the equally good ones of a flow side by side.

    Attributes:
        flow: The flow each pair is for, ascending; several pairs may serve one flow.
        out: Link from the sending GPU to its port; its source is another GPU than the flow's
            where data is relayed.
        back: Link from the receiving port to the flow's target.
        source_port: The NIC port that sends.
        target_port: The NIC port that receives.
    """

    flow: NDArray[np.int64]
    out: NDArray[np.int32]
    back: NDArray[np.int32]
    source_port: NDArray[np.int64]
    target_port: NDArray[np.int64]

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> NicPairs:
        """Return some of the pairs."""
        return NicPairs(**{field.name: getattr(self, field.name)[which] for field in fields(self)})


def ends(known: RoutingTables, flows: Flows, which: NDArray[np.int64], *, pxn: bool) -> NicPairs:
    """Return every equally short pair of NIC ports for the flows numbered *which*.

    Args:
        known: Tables of the fabric.
        flows: All flows.
        which: Those that leave their node, ascending.
        pxn: Whether data goes to the GPU on the target's rail first; without it, only when
            the rails do not meet.

    Raises:
        InfeasibleError: A pair of GPUs has no way left; the message names them.
    """
    own = _best(known, flows, which, rows=known.near.doors, row=flows.source)
    rail = known.fabric.vertex_rail
    settled = np.zeros(len(flows), dtype=np.bool_)
    level = rail[own.source_port] == rail[own.target_port]
    settled[own.flow[level] if pxn else own.flow] = True
    relayed = _relayed(known, flows, which[~settled[which]])
    settled[:] = False
    settled[relayed.flow] = True
    chosen = _joined([own.take(~settled[own.flow]), relayed])
    settled[chosen.flow] = True
    lost = which[~settled[which]]
    if len(lost):
        raise _partition(known, flows, int(lost[0]), len(lost))
    return chosen


def _best(
    known: RoutingTables,
    flows: Flows,
    which: NDArray[np.int64],
    *,
    rows: Csr,
    row: NDArray[np.int64],
    same_rail: bool = False,
) -> NicPairs:
    """Return the shortest pairs of a port in row ``row[flow]`` of *rows* with the target's own."""
    count = rows.count(row[which]) * known.near.doors.count(flows.target[which])
    found = []
    for block in blocks(count):
        pairs = _live(known, _pairs(known, flows, which[block], rows=rows, row=row))
        found.append(_shortest(known, _relays(known, flows, pairs) if same_rail else pairs))
    return _joined(found)


def _pairs(
    known: RoutingTables,
    flows: Flows,
    which: NDArray[np.int64],
    *,
    rows: Csr,
    row: NDArray[np.int64],
) -> NicPairs:
    target = flows.target[which]
    doors, link_target = known.near.doors, known.fabric.link_target
    owner, position = spans(doors.start(target), doors.count(target))
    back, flow = doors.links[position], which[owner]
    owner, position = spans(rows.start(row[flow]), rows.count(row[flow]))
    return NicPairs(
        flow=flow[owner],
        out=rows.links[position],
        back=back[owner] ^ 1,
        source_port=link_target[rows.links[position]].astype(np.int64),
        target_port=link_target[back[owner]].astype(np.int64),
    )


def _live(known: RoutingTables, pairs: NicPairs) -> NicPairs:
    """Keep the pairs in one plane of which both ports are plugged into a switch."""
    edge, plane = known.near.edge, known.fabric.vertex_plane
    here, there = pairs.source_port, pairs.target_port
    live = (edge[here] >= 0) & (edge[there] >= 0)
    return pairs.take(live & (plane[here] == plane[there]))


def _relays(known: RoutingTables, flows: Flows, pairs: NicPairs) -> NicPairs:
    """Keep the pairs on one rail whose sending GPU the flow's source reaches inside the node."""
    rail = known.fabric.vertex_rail
    apart = rail[pairs.target_port] >= 0
    pairs = pairs.take(apart & (rail[pairs.source_port] == rail[pairs.target_port]))
    sender = known.fabric.link_source[pairs.out].astype(np.int64)
    return pairs.take(known.inside.cost(flows.source[pairs.flow], sender) >= 0)


def _shortest(known: RoutingTables, pairs: NicPairs) -> NicPairs:
    edge = known.near.edge
    cost = known.between.cost(
        edge[pairs.source_port].astype(np.int64), edge[pairs.target_port].astype(np.int64)
    )
    pairs, cost = pairs.take(cost >= 0), cost[cost >= 0]
    if not len(cost):
        return pairs
    first = np.flatnonzero(np.diff(pairs.flow, prepend=-1))
    least = np.minimum.reduceat(cost, first)
    number = np.cumsum(np.diff(pairs.flow, prepend=-1) != 0) - 1
    return pairs.take(cost == least[number])


def _relayed(known: RoutingTables, flows: Flows, which: NDArray[np.int64]) -> NicPairs:
    """Pair ports of the sender's whole node with the target's ports on the same rail.

    A GPU none of whose own ports is live gets no relay: it has lost the network.
    """
    fabric, near = known.fabric, known.near
    links = _first_doors(known)
    node_of_link = fabric.vertex_node[fabric.link_source[links]]
    rows = csr(node_of_link, links, num_rows=int(fabric.vertex_node.max(initial=0)) + 1)
    door_live = near.edge[fabric.link_target[near.doors.links]] >= 0
    has_live = np.zeros(fabric.num_vertices, dtype=np.bool_)
    has_live[fabric.link_source[near.doors.links[door_live]]] = True
    which = which[has_live[flows.source[which]]]
    node = fabric.vertex_node[flows.source].astype(np.int64)
    return _best(known, flows, which, rows=rows, row=node, same_rail=True)


def _first_doors(known: RoutingTables) -> NDArray[np.int32]:
    """Return for each NIC port the door of the first GPU that has it."""
    links = np.sort(known.near.doors.links)
    _, first = np.unique(known.fabric.link_target[links], return_index=True)
    return links[np.sort(first)]


def _joined(parts: list[NicPairs]) -> NicPairs:
    """Put pairs together, sorted by flow; pairs of one flow keep their order."""
    none = np.empty(0, dtype=np.int32)
    columns = {
        field.name: np.concatenate([none, *(getattr(part, field.name) for part in parts)])
        for field in fields(NicPairs)
    }
    return NicPairs(**columns).take(np.argsort(columns["flow"], kind="stable"))


def _partition(known: RoutingTables, flows: Flows, flow: int, num_lost: int) -> InfeasibleError:
    pair = int(flows.source[flow]), int(flows.target[flow])
    names = " to ".join(vertex_name(known.fabric, gpu) for gpu in pair)
    more = f" (and {num_lost - 1} more flows)" if num_lost > 1 else ""
    return InfeasibleError(
        f"{names}{more}: no path is left; restore a NIC, link or switch between them, "
        "or take the GPUs out of the job"
    )
