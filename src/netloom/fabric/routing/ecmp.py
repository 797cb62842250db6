"""Equal-cost multi-path: a hash of the five-tuple picks the link, flow by flow.

The hash is MurmurHash3_x86_32 over the five-tuple, seeded by the switch, modulo the number of
candidates in order of link id, as in the RDMA simulator of Li et al., HPCC (SIGCOMM 2019),
which seeds it with the node id. Real switches use vendors' own (CRC-based) hashes: the
statistics are the same, the choice for a given five-tuple is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from netloom.fabric.routing.murmur import five_tuple_hash
from netloom.fabric.routing.trace import FlowsAtSwitch, trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.candidates import RoutingTables
    from netloom.fabric.routing.flows import Flows, Paths
    from netloom.fabric.routing.router import Fan

__all__ = ["paths"]


def paths(
    known: RoutingTables,
    flows: Flows,
    *,
    seeds: Literal["distinct", "equal"] = "distinct",
    pxn: bool = False,
) -> Paths:
    """Return the path that ECMP gives each flow.

    Args:
        known: Tables of the fabric.
        flows: What to route.
        seeds: ``distinct``: a switch seeds its hash with its vertex id; ``equal``: all seed it
            with 0, so that what one tier put together the next cannot tell apart (polarisation).
        pxn: Whether data goes to the GPU on the target's rail first; without it, only when the
            rails do not meet.

    Raises:
        SpecError: A flow does not join two different GPUs of the fabric.
        InfeasibleError: Two GPUs have no path left.
    """
    return trace(known, flows, _Hash(distinct=seeds == "distinct"), pxn=pxn)


@dataclass(frozen=True, slots=True)
class _Hash:
    distinct: bool

    def ends(self, packets: FlowsAtSwitch, count: NDArray[np.int64]) -> NDArray[np.int64]:
        # Hosts choose the plane; each has its own seed whatever the switches do.
        return self._pick(packets, count, seed=packets.at)

    def links(self, packets: FlowsAtSwitch, fan: Fan) -> NDArray[np.int64]:
        seed = packets.at if self.distinct else np.zeros(len(packets), dtype=np.int64)
        return fan.start + self._pick(packets, fan.count, seed=seed)

    def _pick(
        self, packets: FlowsAtSwitch, count: NDArray[np.int64], *, seed: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        if (count == 1).all():
            return np.zeros(len(packets), dtype=np.int64)
        value = five_tuple_hash(packets.source, packets.target, packets.source_port, seed=seed)
        return value % count
