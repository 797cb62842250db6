"""D-mod-k: static routes that send each destination up its own way.

On its way up a packet for destination d takes, at height l, up-port ``d // (w_1 ... w_(l-1))``
modulo the number of up-ports, where w_i is the number of up-ports of a switch of tier i; ports
are counted round all parents before a second cable to the same parent. On a full fat tree all
shifts of the destinations, hence the steps of most collectives, cross no link twice: Zahavi,
"Fat-tree routing and node ordering providing contention free traffic for MPI global
collectives", JPDC 72 (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.routing.trace import FlowsAtSwitch, trace
from netloom.fabric.routing.updown import UpDown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Flows, Paths
    from netloom.fabric.routing.ragged import Csr
    from netloom.fabric.routing.router import Fan

__all__ = ["paths"]


def paths(known: RoutingTables, flows: Flows, *, pxn: bool = False) -> Paths:
    """Return the path that d-mod-k gives each flow.

    Where failures leave a switch with fewer candidates, the destination's number is taken
    modulo those: nothing is lost, but shifts are no longer free of contention.

    Args:
        known: Tables of the fabric.
        flows: What to route; ports are ignored.
        pxn: As for :func:`netloom.fabric.routing.ecmp.paths`.

    Raises:
        SpecError: A flow does not join two different GPUs of the fabric.
        InfeasibleError: Two GPUs have no path left.
    """
    return trace(known, flows, _chooser(known), pxn=pxn)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _DModK:
    """The choice by destination.

    Attributes:
        number: For each NIC port its place in the order of the tree; for others 0.
        tier: Of each vertex.
        target: The vertex that each link enters.
        divisor: For each tier, the up-ports of all tiers below it multiplied.
        parents: For each tier, the distinct switches above one of its switches.
        turn: Up-links row by row, each row in the order of the ports.
    """

    number: NDArray[np.int64]
    tier: NDArray[np.int8]
    target: NDArray[np.int32]
    divisor: NDArray[np.int64]
    parents: NDArray[np.int64]
    turn: NDArray[np.int64]

    def ends(self, packets: FlowsAtSwitch, count: NDArray[np.int64]) -> NDArray[np.int64]:
        return packets.target % count

    def links(self, packets: FlowsAtSwitch, fan: Fan) -> NDArray[np.int64]:
        tier = self.tier[packets.at]
        rises = self.tier[self.target[fan.links[fan.start]]] > tier
        # Down, parallel cables from one parent are told apart by what the way up left over.
        below = np.maximum(tier - 1, 0)
        divisor = np.where(rises, self.divisor[tier], self.divisor[below] * self.parents[below])
        position = fan.start + (self.number[packets.target] // divisor) % fan.count
        return self.turn[position] if fan.whole else position


def _chooser(known: RoutingTables) -> _DModK:
    fabric, up = known.fabric, known.near.up
    num_tiers = int(fabric.vertex_tier.max(initial=0)) + 1
    turn, parents = _turns(fabric, up)
    ports = np.ones(num_tiers, dtype=np.int64)
    most_parents = ports.copy()
    rows = np.flatnonzero(fabric.vertex_kind == VertexKind.SWITCH)
    np.maximum.at(ports, fabric.vertex_tier[rows], up.count(rows))
    np.maximum.at(most_parents, fabric.vertex_tier[rows], parents[rows])
    return _DModK(
        number=_numbers(known),
        tier=fabric.vertex_tier,
        target=fabric.link_target,
        divisor=np.cumprod(np.concatenate([ports[:1], ports[:-1]])),
        parents=most_parents,
        turn=turn,
    )


def _turns(fabric: Fabric, up: Csr) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return up-link positions by (source, cable of the pair, target), and parents by vertex."""
    source = fabric.link_source[up.links].astype(np.int64)
    target = fabric.link_target[up.links].astype(np.int64)
    order = np.lexsort((up.links, target, source))
    pair = (source * fabric.num_vertices + target)[order]
    fresh = np.diff(pair, prepend=-1) != 0
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(pair)), 0))
    cable = np.empty(len(pair), dtype=np.int64)
    cable[order] = np.arange(len(pair)) - first
    parents = np.bincount(source[order][fresh], minlength=fabric.num_vertices)
    return np.lexsort((target, cable, source)), parents


def _numbers(known: RoutingTables) -> NDArray[np.int64]:
    """Number the NIC ports along the tree: pod by pod, edge switch by edge switch."""
    ports = np.flatnonzero(known.near.edge >= 0)
    edge = known.near.edge[ports]
    keys: list[NDArray[np.generic]] = [ports, edge]
    if isinstance(known.between, UpDown):
        keys.extend(known.between.within[level, edge] for level in range(1, known.between.levels))
    number = np.zeros(known.fabric.num_vertices, dtype=np.int64)
    number[ports[np.lexsort(keys)]] = np.arange(len(ports))
    return number
