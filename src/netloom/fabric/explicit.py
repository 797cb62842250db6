"""Routes computed elsewhere: one port for each destination at every switch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_names
from netloom.fabric.wiring.nexthops import check_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Ports", "routed_by"]

Ports = dict[str, dict[str, int]]


def routed_by(
    tables: Mapping[str, Mapping[str, int]], wiring: PacketTopology, fabric: Fabric
) -> PacketTopology:
    """Return *wiring* with the next links of *tables* at every switch of the scale-out network.

    Ports of a switch count from 1 in the order of its cables, towards the hosts first, as a lab's
    do. A destination that a table leaves out cannot be reached from that switch.

    Args:
        tables: By the name of a switch, the port towards each NIC port by its name.
        wiring: What to route.
        fabric: What *wiring* was made of.

    Raises:
        SpecError: a switch has no table, or a name or port is not there; the message says which.
        InfeasibleError: the routes would not fit in memory.
    """
    check_size(wiring.num_vertices, wiring.num_endpoints)
    endpoint_of = _endpoints(fabric)
    names = vertex_names(fabric)
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    switches = {names[vertex] for vertex in np.flatnonzero(is_switch).tolist()}
    for name in tables:
        if name not in switches:
            raise SpecError(
                key="routes",
                what=f"{name!r} is no switch of this network",
                remedy="names are like leaf:0",
            )
    choices = wiring.choices[:, wiring.goal].copy()
    sets = _Sets(wiring)
    for vertex, name in enumerate(wiring.name):
        if name in switches:
            if name not in tables:
                raise SpecError(
                    key="routes", what=f"there is no table for {name}", remedy="dump all switches"
                )
            leaving = np.flatnonzero(wiring.link_source == vertex)
            choices[vertex] = sets.row(name, tables[name], leaving, endpoint_of)
    offsets, links = sets.joined()
    goal = np.arange(wiring.num_endpoints, dtype=np.int32)
    return replace(wiring, goal=goal, choices=choices, offsets=offsets, links=links)


def _endpoints(fabric: Fabric) -> dict[str, NDArray[np.int64]]:
    """Return the GPUs behind each NIC port, by its name."""
    kind = fabric.vertex_kind
    doors = np.flatnonzero(
        (kind[fabric.link_source] == VertexKind.GPU) & (kind[fabric.link_target] == VertexKind.NIC)
    )
    names = vertex_names(fabric)
    found: dict[str, list[int]] = {}
    for gpu, nic in zip(
        fabric.link_source[doors].tolist(), fabric.link_target[doors].tolist(), strict=True
    ):
        found.setdefault(names[nic], []).append(gpu)
    return {name: np.array(gpus, dtype=np.int64) for name, gpus in found.items()}


class _Sets:
    """Sets of next links behind those that a wiring has; equal ones are kept once."""

    def __init__(self, wiring: PacketTopology) -> None:
        self._wiring = wiring
        self._known: dict[tuple[int, ...], int] = {}

    def row(
        self,
        name: str,
        ports: Mapping[str, int],
        leaving: NDArray[np.int64],
        endpoint_of: Mapping[str, NDArray[np.int64]],
    ) -> NDArray[np.int32]:
        """Return the set of each endpoint at one switch, whose links are *leaving*."""
        towards: list[set[int]] = [set() for _ in range(self._wiring.num_endpoints)]
        for host, port in ports.items():
            if host not in endpoint_of:
                raise SpecError(
                    key="routes",
                    what=f"{name}: {host!r} is no NIC port of this network, as nic:0 is",
                )
            if not 1 <= port <= len(leaving):
                raise SpecError(
                    key="routes",
                    what=f"{name}: port {port} to {host}",
                    remedy=f"it has 1 to {len(leaving)}",
                )
            for endpoint in endpoint_of[host].tolist():
                towards[endpoint].add(int(leaving[port - 1]))
        return np.array([self._number(some) for some in towards], dtype=np.int32)

    def _number(self, links: set[int]) -> int:
        key = tuple(sorted(links))
        first = len(self._wiring.offsets) - 1
        return self._known.setdefault(key, first + len(self._known))

    def joined(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return all sets, the wiring's own first."""
        more = [link for key in self._known for link in key]
        ends = np.cumsum([len(key) for key in self._known], dtype=np.int64)
        offsets = np.concatenate([self._wiring.offsets, self._wiring.offsets[-1] + ends])
        links = np.concatenate([self._wiring.links, np.array(more, dtype=np.int32)])
        return offsets, links.astype(np.int32)
