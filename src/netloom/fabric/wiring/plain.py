"""The wiring of a list of cables, as other simulators' topology files give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.routing.minimal import Minimal
from netloom.fabric.routing.ragged import csr
from netloom.fabric.wiring.nexthops import Attachments, next_hops
from netloom.fabric.wiring.wiring import PacketTopology

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CableList", "wire_up"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CableList:
    """Cables between vertices; endpoints come first in the numbering, then switches.

    Attributes:
        lower: One end of each cable.
        upper: The other end.
        rate_bps: One direction.
        delay_ps: Propagation.
        up: Whether routes may use it.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    rate_bps: NDArray[np.float64]
    delay_ps: NDArray[np.int64]
    up: NDArray[np.bool_]


def wire_up(
    cables: CableList, *, num_endpoints: int, name: tuple[str, ...], forward_ps: NDArray[np.int64]
) -> PacketTopology:
    """Return the wiring of *cables* with every shortest way, counted in hops, as a route.

    Endpoints forward nothing.

    Args:
        cables: What joins what.
        num_endpoints: Vertices below this are endpoints.
        name: Of each vertex.
        forward_ps: What each vertex adds to a packet it forwards.

    Raises:
        InfeasibleError: the routes would not fit in memory.
    """
    source = np.stack([cables.lower, cables.upper], axis=1).reshape(-1).astype(np.int32)
    target = np.stack([cables.upper, cables.lower], axis=1).reshape(-1).astype(np.int32)
    usable = np.repeat(cables.up, 2)
    hops = next_hops(
        _router(source, target, usable, num_endpoints=num_endpoints, num_vertices=len(name)),
        _doors(source, target, usable, num_endpoints=num_endpoints),
        num_endpoints=num_endpoints,
        first_switch=num_endpoints,
        num_vertices=len(name),
        num_links=len(source),
    )
    offsets, links = hops.sets.table()
    return PacketTopology(
        num_endpoints=num_endpoints,
        name=name,
        link_source=source,
        link_target=target,
        link_rate_bps=np.repeat(cables.rate_bps, 2),
        link_delay_ps=np.repeat(cables.delay_ps, 2),
        link_scale_up=np.zeros(len(source), dtype=np.bool_),
        forward_ps=forward_ps,
        goal=hops.goal,
        choices=hops.choices,
        offsets=offsets,
        links=links,
    )


def _router(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    usable: NDArray[np.bool_],
    *,
    num_endpoints: int,
    num_vertices: int,
) -> Minimal:
    switched = (source >= num_endpoints) & (target >= num_endpoints) & usable
    links = np.flatnonzero(switched).astype(np.int32)
    is_switch = np.arange(num_vertices) >= num_endpoints
    place = np.where(is_switch, np.arange(num_vertices) - num_endpoints, 0)
    return Minimal(
        source=source,
        target=target,
        out=csr(source[links], links, num_rows=num_vertices),
        into=csr(target[links], links, num_rows=num_vertices),
        region=np.where(is_switch, 0, -1).astype(np.int32),
        place=place.astype(np.int32),
        width=num_vertices - num_endpoints,
    )


def _doors(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    usable: NDArray[np.bool_],
    *,
    num_endpoints: int,
) -> Attachments:
    found = np.flatnonzero((source < num_endpoints) & (target >= num_endpoints) & usable)
    link = found[np.argsort(source[found], kind="stable")].astype(np.int32)
    edge = target[link].astype(np.int64)
    return Attachments(
        endpoint=source[link].astype(np.int64),
        link=link,
        edge=edge,
        leaf=edge,
        uplink=np.full(len(link), -1, dtype=np.int32),
    )
