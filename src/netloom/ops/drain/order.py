"""In which order switches are drained: least harm first, those of the same nodes together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.names import part_of_vertex

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric
    from netloom.fabric.part_id import PartId

__all__ = ["Batch", "batches_of", "nodes_behind"]

# Switches of one step, and the nodes that lose a NIC port with them.
Batch = tuple[tuple["PartId", ...], tuple[int, ...]]


def batches_of(fabric: Fabric, *, at_once: int = 1) -> tuple[Batch, ...]:
    """Return the steps: switches without hosts from the top down, then leaves by their nodes.

    The first step is one switch alone, the canary. Leaves of the same nodes (the rails of a pod)
    are one step whatever *at_once* is: those nodes leave their jobs once.

    Args:
        fabric: As designed.
        at_once: Switches without hosts in one step.
    """
    behind = nodes_behind(fabric)
    switches = np.flatnonzero(fabric.vertex_kind == VertexKind.SWITCH).tolist()
    upper = [one for one in switches if not behind.get(one)]
    upper.sort(key=lambda one: (-int(fabric.vertex_tier[one]), one))
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for one in switches:
        if behind.get(one):
            groups[behind[one]].append(one)
    steps = [upper[:1], *_cut(fabric, upper[1:], at_once)] if upper else []
    found: list[Batch] = [(_parts(fabric, some), ()) for some in steps]
    found += [(_parts(fabric, some), nodes) for nodes, some in sorted(groups.items())]
    return tuple(found)


def _cut(fabric: Fabric, switches: list[int], at_once: int) -> list[list[int]]:
    """Return switches in groups of at most *at_once*, each of one tier."""
    tiers: dict[int, list[int]] = defaultdict(list)
    for one in switches:
        tiers[int(fabric.vertex_tier[one])].append(one)
    return [
        tiers[tier][start : start + at_once]
        for tier in sorted(tiers, reverse=True)
        for start in range(0, len(tiers[tier]), at_once)
    ]


def _parts(fabric: Fabric, switches: list[int]) -> tuple[PartId, ...]:
    return tuple(part_of_vertex(fabric, one) for one in switches)


def nodes_behind(fabric: Fabric) -> dict[int, tuple[int, ...]]:
    """Return the nodes whose NIC ports hang on each switch, by its vertex; cables that are up."""
    is_port = fabric.vertex_kind == VertexKind.NIC
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    source, target = fabric.link_source, fabric.link_target
    up = is_port[source] & is_switch[target] & (fabric.link_state == LinkState.UP)
    found: dict[int, set[int]] = defaultdict(set)
    for link in np.flatnonzero(up).tolist():
        found[int(target[link])].add(int(fabric.vertex_node[source[link]]))
    return {switch: tuple(sorted(nodes)) for switch, nodes in found.items()}
