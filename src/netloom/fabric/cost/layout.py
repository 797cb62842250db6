"""Racks on a floor, and how long every cable between them is.

The switches of a tier stand in the middle of the nodes they serve: leaves in the middle of their
scalable unit (or inside the rack, where one rack holds the whole unit), spines in the middle of
their pod, the top tier in the middle of the hall.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.cost.hall import Hall
from netloom.fabric.topologies.entry import SwitchSlots, topology_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.fabric.design import Design, Stage
    from netloom.fabric.topologies.entry import Pairs
    from netloom.parts.parts import Node
    from netloom.spec.scenario import Floor

__all__ = ["LENGTHS_M", "FloorLayout", "StageLengths", "lay_out", "nodes_per_rack"]

# The lengths fibre is sold in: NVIDIA LinkX MFP7E10 and MFP7E30 up to 150 m (recalled), then in
# steps that trunk cables are ordered in (assumed).
LENGTHS_M: Final = (
    *(1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 100, 150),
    *(200, 250, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000, 10000),
)

# Assumed. With it the 127-node H100 SuperPOD takes 32 + 4 + 1 racks; NVIDIA RA-11333-001 V11,
# table 7, lists 38 with those of management and storage.
SWITCHES_PER_RACK: Final = 16

# A GB200 NVL72 rack, the densest shipping, is rated at about 132 kW (recalled).
MAX_RACK_POWER_W: Final = 140e3

# Racks above a rack whose distances are measured one by one; of more, as many evenly spaced ones
# stand for all.
MAX_PARTNERS: Final = 256

_SLIVER_M: Final = 1e-9  # keeps a sum of tenths from being rounded up to the next metre


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageLengths:
    """The lengths of the cables of one stage.

    Attributes:
        stage: The cables meant.
        in_rack: Cables that stay inside a rack, by length in whole metres, rounded up.
        over_tray: Cables that leave the rack, likewise. Both are expected numbers, which
            need not be whole; together they sum to ``stage.num_cables``.
    """

    stage: Stage
    in_rack: NDArray[np.float64]
    over_tray: NDArray[np.float64]

    @property
    def longest_m(self) -> float:
        """The longest cable; 0 for a stage without cables."""
        return float(np.flatnonzero(self.in_rack + self.over_tray).max(initial=0))

    @property
    def mean_m(self) -> float:
        """The mean length, 0 for a stage without cables."""
        total = self.in_rack + self.over_tray
        return float(total @ np.arange(len(total)) / max(total.sum(), 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorLayout:
    """A network on its floor.

    Attributes:
        hall: Where racks stand.
        num_node_racks: Racks with nodes.
        num_network_racks: Racks with nothing but switches.
        routes: Cable lengths, stage by stage, in the order of the design.
        racks: The rack of each node (``node``), and by tier the racks that its switches stand in,
            in the order of the nodes they serve.
    """

    hall: Hall
    num_node_racks: int
    num_network_racks: int
    routes: tuple[StageLengths, ...]
    racks: dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Level:
    """Things that cables end on: nodes one by one, or the switches of a tier rack by rack.

    Attributes:
        anchor: Where each belongs in the order of the nodes.
        group: The group of nodes each serves; for nodes, themselves.
        group_nodes: Nodes in such a group.
        weight: Each one's share of the cables that end on the level.
        shared: Whether they stand in the nodes' racks and not in their own.
    """

    anchor: NDArray[np.float64]
    group: NDArray[np.int64]
    group_nodes: int
    weight: NDArray[np.float64]
    shared: bool


def nodes_per_rack(floor: Floor, node: Node) -> int:
    """Return how many nodes stand in a rack: what the floor says, as far as power allows."""
    return max(1, min(floor.nodes_per_rack, int(MAX_RACK_POWER_W / node.power_w)))


def lay_out(design: Design, floor: Floor, *, per_rack: int) -> FloorLayout:
    """Return *design* on the *floor*, with *per_rack* nodes in a rack."""
    levels = {"node": _node_level(design.num_nodes)}
    for index, tier in enumerate(design.tiers):
        levels[tier.name] = _tier_level(design, index, per_rack=per_rack)
    num_node_racks = -(-design.num_nodes // per_rack)
    racks, num_racks = _stand(levels, num_node_racks, per_rack=per_rack)
    hall = Hall.of(num_racks, floor)
    return FloorLayout(
        hall=hall,
        num_node_racks=num_node_racks,
        num_network_racks=num_racks - num_node_racks,
        routes=tuple(_route(stage, design, levels, racks, hall) for stage in design.stages),
        racks=racks,
    )


def _node_level(num_nodes: int) -> _Level:
    return _Level(
        anchor=np.arange(num_nodes, dtype=np.float64),
        group=np.arange(num_nodes),
        group_nodes=1,
        weight=np.ones(num_nodes),
        shared=True,
    )


def _tier_level(design: Design, index: int, *, per_rack: int) -> _Level:
    group_nodes = _group_nodes(design, index)
    num_groups = -(-design.num_nodes // group_nodes)
    shared = group_nodes <= per_rack and index == 0
    switches = design.tiers[index].num_switches / num_groups
    racks_each = 1 if shared else max(1, -int(-switches // SWITCHES_PER_RACK))
    group = np.repeat(np.arange(num_groups), racks_each)
    first = group * group_nodes
    last = np.minimum(first + group_nodes, design.num_nodes) - 1
    middle = (first + last) / 2
    below = _group_nodes(design, index - 1) if index > 0 else group_nodes
    if below < group_nodes:  # between two groups of the tier below, not inside one
        middle = np.rint((middle + 0.5) / below) * below - 0.5
    return _Level(
        anchor=first.astype(np.float64) if shared else middle,
        group=group,
        group_nodes=group_nodes,
        weight=np.full(len(group), switches / racks_each),
        shared=shared,
    )


def _group_nodes(design: Design, index: int) -> int:
    """Return how many nodes the switches of a tier serve together.

    The top tier of a tree serves all. Where a tier is wired to itself (torus, dragonfly+), the
    first reach that ends at it says how far it gets without those cables.
    """
    name = design.tiers[index].name
    sideways = any(stage.lower == stage.upper == name for stage in design.stages)
    top = index == len(design.tiers) - 1 and not sideways
    near = [reach.num_nodes for reach in design.reaches if reach.tier == name]
    return design.num_nodes if top or not near else max(1, min(near[0], design.num_nodes))


def _stand(
    levels: dict[str, _Level], num_node_racks: int, *, per_rack: int
) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Return the number of the rack that each thing of each level stands in, and of all racks."""
    own = {name: level for name, level in levels.items() if not level.shared}
    starts = np.arange(num_node_racks) * per_rack
    keys = np.concatenate([starts.astype(np.float64), *(level.anchor for level in own.values())])
    numbers = np.empty(len(keys), dtype=np.int64)
    numbers[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    racks = {
        name: numbers[(level.anchor // per_rack).astype(np.int64)]
        for name, level in levels.items()
        if level.shared
    }
    ends = np.cumsum([num_node_racks, *(len(level.anchor) for level in own.values())])
    for name, (start, end) in zip(own, pairwise(ends), strict=True):
        racks[name] = numbers[start:end]
    return racks, len(keys)


def _route(
    stage: Stage,
    design: Design,
    levels: dict[str, _Level],
    racks: dict[str, NDArray[np.int64]],
    hall: Hall,
) -> StageLengths:
    """Return the lengths of the cables of *stage*."""
    if stage.lower != stage.upper:
        pairs = _upward(levels[stage.lower], levels[stage.upper])
    else:
        pairs = topology_entry(design.topology).side_pairs(
            design, _slots(design, stage.lower, levels[stage.lower])
        )
    bound_m = hall.width_m + hall.depth_m + 2 * hall.floor.slack_m
    counts = np.zeros((2, int(bound_m) + 2))
    for lower, upper, weight in pairs:
        one, other = racks[stage.lower][lower], racks[stage.upper][upper]
        metres = np.ceil(hall.length_m(one, other) - _SLIVER_M).astype(np.int64)
        flat = np.where(one == other, 0, counts.shape[1]) + metres
        counts += np.bincount(flat, weights=weight, minlength=counts.size).reshape(counts.shape)
    total = counts.sum()
    assert total or not stage.num_cables, f"{design.topology.kind} gives no pairs of {stage}"
    counts *= stage.num_cables / total if total else 0.0
    return StageLengths(stage=stage, in_rack=counts[0], over_tray=counts[1])


def _slots(design: Design, name: str, level: _Level) -> SwitchSlots:
    tier = next(index for index, tier in enumerate(design.tiers) if tier.name == name)
    return SwitchSlots(
        tier=tier,
        num_switches=design.tiers[tier].num_switches,
        group=level.group,
        weight=level.weight,
    )


def _upward(lower: _Level, upper: _Level) -> Iterator[Pairs]:
    """Yield pairs of a lower thing and one of those above it, cables spread evenly over them."""
    target = np.minimum(lower.anchor.astype(np.int64) // upper.group_nodes, upper.group.max())
    start = np.searchsorted(upper.group, target, side="left")
    count = np.searchsorted(upper.group, target, side="right") - start
    if count.max() <= MAX_PARTNERS:
        for turn in range(int(count.max())):
            some = np.flatnonzero(turn < count)
            yield some, start[some] + turn, lower.weight[some] / count[some]
        return
    everyone = np.arange(len(target))
    for turn in range(MAX_PARTNERS):
        offset = (2 * turn + 1) * count // (2 * MAX_PARTNERS)
        yield everyone, start + offset, lower.weight
