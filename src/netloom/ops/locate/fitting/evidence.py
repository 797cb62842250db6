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
    """

    fabric: Fabric
    seen: Observations
    wires: NDArray[np.bool_]
    begin: NDArray[np.int64]
    flows: NDArray[np.int32]

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
    links = seen.paths.links
    order = _sorted_by(links)
    counts = np.bincount(links, minlength=fabric.num_links)
    return Evidence(
        fabric=fabric,
        seen=seen,
        wires=_wires(fabric),
        begin=np.concatenate([[0], np.cumsum(counts)]),
        flows=seen.flow_of_crossing()[order].astype(np.int32),
    )


def _sorted_by(links: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the order of *links*, equal ones as they stand.

    By the lower 16 bits, then by the upper: numpy sorts so short numbers by counting, eight times
    as fast as whole ones.
    """
    order = np.argsort((links & 0xFFFF).astype(np.uint16), kind="stable")
    upper = (links >> 16).astype(np.uint16)
    return order[np.argsort(upper[order], kind="stable")] if upper.any() else order


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
    into, count = fabric.link_target, fabric.num_vertices
    bad = np.bincount(into, weights=hit, minlength=count)
    crossed = np.bincount(into, weights=np.diff(evidence.begin), minlength=count)
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    return np.asarray(is_switch & (bad > BAD_SHARE * crossed))


def _wires(fabric: Fabric) -> NDArray[np.bool_]:
    """Return the links that have a switch at one end: those of the network."""
    kind = fabric.vertex_kind
    switch = kind == VertexKind.SWITCH
    return np.asarray(switch[fabric.link_source] | switch[fabric.link_target])
