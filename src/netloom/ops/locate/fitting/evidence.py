"""Observations put in order by link: who crosses what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.ops.locate.faults import FaultHypothesis, Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.observations import Observations

__all__ = ["Evidence", "bad_switches", "evidence_of", "links_of"]

BAD_SHARE: Final = 0.15  # of the flows through a switch in trouble before it is looked at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Observations of a fabric, with the flows of each link at hand.

    Attributes:
        wires: Whether each link has a switch at one end: only those are suspected.
        begin: Where each link's flows begin in *flows*, and the end of the last.
        flows: The flows that cross each link, link by link.
        into: Crossings of the links that enter each switch; of what is no switch, infinitely many.
        lossy: Flows that lost any packet.
    """

    fabric: Fabric
    seen: Observations
    wires: NDArray[np.bool_]
    begin: NDArray[np.int64]
    flows: NDArray[np.int32]
    into: NDArray[np.float64]
    lossy: NDArray[np.int64]

    def crossing(self, links: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the crossings of *links*: which of them, and the flow."""
        count = self.begin[links + 1] - self.begin[links]
        which = np.repeat(np.arange(len(links)), count)
        first = np.repeat(self.begin[links] - np.cumsum(count) + count, count)
        return which, self.flows[first + np.arange(len(which))]

    def path_links(self, flows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return all links that *flows* cross, flow by flow."""
        begin = self.seen.paths.offsets[flows]
        count = self.seen.paths.offsets[flows + 1] - begin
        first = np.repeat(begin - np.cumsum(count) + count, count)
        return self.seen.paths.links[first + np.arange(int(count.sum()))]


def evidence_of(fabric: Fabric, seen: Observations) -> Evidence:
    """Return *seen* put in order by link."""
    counts = np.bincount(seen.paths.links, minlength=fabric.num_links)
    into = np.bincount(fabric.link_target, weights=counts, minlength=fabric.num_vertices)
    return Evidence(
        fabric=fabric,
        seen=seen,
        wires=_wires(fabric),
        begin=np.concatenate([[0], np.cumsum(counts)]),
        flows=_by_link(seen),
        into=np.where(fabric.vertex_kind == VertexKind.SWITCH, into, np.inf),
        lossy=np.flatnonzero(seen.lost > 0),
    )


def _by_link(seen: Observations) -> NDArray[np.int32]:
    """Return the flow of each crossing, link by link, and in order on each.

    Link and flow are sorted as one number, which numpy does four times as fast as it finds the
    order of either.
    """
    both = seen.paths.links.astype(np.int64)
    both <<= 32
    both |= seen.flow_of_crossing()
    both.sort()
    return both.astype(np.int32)  # keeps the lower half


def links_of(fabric: Fabric, fault: FaultHypothesis) -> NDArray[np.int64]:
    """Return the links of a part; of a switch, those that enter it."""
    if fault.scope is Scope.LINK:
        return np.array([fault.index])
    if fault.scope is Scope.CABLE:
        return np.array([2 * fault.index, 2 * fault.index + 1])
    return np.flatnonzero(fabric.link_target == fault.index)


def bad_switches(evidence: Evidence, hit: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the switches much of whose traffic is in trouble."""
    fabric = evidence.fabric
    bad = np.bincount(fabric.link_target, weights=hit, minlength=fabric.num_vertices)
    return np.asarray(bad > BAD_SHARE * evidence.into)


def _wires(fabric: Fabric) -> NDArray[np.bool_]:
    """Return the links that have a switch at one end: those of the network."""
    kind = fabric.vertex_kind
    switch = kind == VertexKind.SWITCH
    return np.asarray(switch[fabric.link_source] | switch[fabric.link_target])
