"""The folded Clos: how leaves, spines and cores are counted and grouped.

A network of T tiers is made of blocks. A block of tier 1 is one leaf. A block of tier i holds
some blocks of tier i-1 and, for every topmost switch position in those, a set of new switches
that all blocks' switches at that position connect to. The block of tier T is the network.
With one cable between each pair this is the k-ary fat tree of Al-Fares et al. (SIGCOMM 2008);
with several it is the extended generalised fat tree of Ohring et al. (1995).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.fabric.topologies.ports import spread

if TYPE_CHECKING:
    from netloom.fabric.topologies.ports import Ports

__all__ = ["MAX_TIERS", "Clos", "ClosOrder", "Leaves", "Level", "fits_clos", "plan_clos"]

MAX_TIERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosOrder:
    """One network to plan; planes and separate rails are several equal networks.

    Attributes:
        num_nics: NICs of a node that this network joins.
        by_rail: Whether a leaf takes one NIC index of many nodes, or all NICs of a few.
        num_networks: Equal networks beside one another.
        oversubscription: At the leaves.
        spine_oversubscription: At the tiers between the leaves and the top.
        hosts_per_leaf: Host ports used on a leaf; None for all that fit.
    """

    ports: Ports
    num_nodes: int
    num_nics: int
    by_rail: bool
    num_networks: int
    oversubscription: float
    spine_oversubscription: float
    hosts_per_leaf: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One tier of one network.

    Attributes:
        num_blocks: Blocks of this tier.
        num_per_block: Switches that stand at the top of one block.
        num_lower: Blocks of the tier below in a full block; for a leaf, 0.
        num_parallel: Cables between a switch and each switch below it; for a leaf, 0.
        num_spread: Switches of this tier that one switch below connects to; for a leaf, 0.
        num_down: Ports in use downwards on the fullest switch.
        num_up: Ports in use upwards.
        num_nodes: Nodes under a full block whose NICs of one rail it joins.
    """

    num_blocks: int
    num_per_block: int
    num_lower: int
    num_parallel: int
    num_spread: int
    num_down: int
    num_up: int
    num_nodes: int

    @property
    def num_switches(self) -> int:
        """Switches of this tier in one network."""
        return self.num_blocks * self.num_per_block


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """How the NICs meet the leaves of one network.

    Attributes:
        nodes_per_leaf: Nodes (of one rail) on a full leaf; 0 when a node needs several leaves.
        ports_per_leaf: Host ports on a full leaf.
        rails_per_leaf: NIC indices that share a leaf; all of them unless it is wired by rail.
        leaves_per_unit: Leaves over which the NICs of a node are dealt out by rail.
        num_units: Groups of leaves that serve the same nodes, one leaf to each rail.
    """

    nodes_per_leaf: int
    ports_per_leaf: int
    rails_per_leaf: int
    leaves_per_unit: int
    num_units: int

    @property
    def num_leaves(self) -> int:
        """Leaves of one network."""
        return self.num_units * self.leaves_per_unit

    def num_nodes(self, num_units: int) -> int:
        """Return the nodes wholly under *num_units* full units; a NIC always reaches its own."""
        return max(1, num_units * self.ports_per_leaf // self.rails_per_leaf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clos:
    """A planned network.

    Attributes:
        rails_in_pods: Whether pods hold a single rail, since whole units would not fit.
        levels: From the leaves up.
    """

    order: ClosOrder
    leaves: Leaves
    rails_in_pods: bool
    levels: tuple[Level, ...]

    @property
    def num_tiers(self) -> int:
        """Tiers of switches."""
        return len(self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grouping:
    """How one tier is divided into blocks.

    Attributes:
        num_lower: Blocks of the tier below in the fullest block.
        num_units: Units of one rail in it; more than there are where it holds several rails.
    """

    num_blocks: int
    num_lower: int
    num_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitting:
    """A shape that fits: its leaves, its tiers, and whether its pods hold single rails."""

    leaves: Leaves
    num_tiers: int
    rails_in_pods: bool


def plan_clos(order: ClosOrder, num_tiers: int | None) -> Clos | None:
    """Return the network of *num_tiers* tiers, the fewest that fit for None.

    None when there is no such network. There are as few pods as can be; but where nothing is
    tapered between them there may be up to a quarter more, if that saves switches, or as many
    switches and fewer cables: 9 full pods of 32 leaves want 256 cores of 64 ports, 10 of 29
    only 160. A tapered leaf may have fewer hosts where that saves switches and takes no more
    leaves: 85 hosts of 128 ports want 43 uplinks, a prime, so as many spines; 64 want 32.
    """
    full = _plan_full(order, num_tiers)
    if full is None or full.num_tiers == 1 or order.oversubscription <= 1 or order.hosts_per_leaf:
        return full
    most = full.leaves.ports_per_leaf
    fewest = -(-order.num_nodes * order.num_nics // full.leaves.num_leaves)
    emptier = (
        _plan_full(replace(order, hosts_per_leaf=hosts), full.num_tiers)
        for hosts in range(most - 1, fewest - 1, -1)
    )
    alike = [plan for plan in emptier if plan and plan.leaves.num_leaves == full.leaves.num_leaves]
    saved = min([full, *alike], key=_num_switches)
    return replace(saved, order=order)


def _plan_full(order: ClosOrder, num_tiers: int | None) -> Clos | None:
    """Return the network whose leaves have all the hosts that fit."""
    fitting = _first_fit(order, num_tiers)
    if fitting is None:
        return None
    fewest = _clos(order, fitting, num_extra=0)
    assert fewest is not None
    if fewest.num_tiers < 3 or fitting.rails_in_pods or order.spine_oversubscription > 1:
        return fewest
    more = (
        _clos(order, fitting, num_extra=num_extra)
        for num_extra in range(1, fewest.levels[1].num_blocks // 4 + 1)
    )
    return min([fewest, *(plan for plan in more if plan)], key=_thrift)


def _clos(order: ClosOrder, fitting: _Fitting, *, num_extra: int) -> Clos | None:
    groupings = _group(order, fitting, num_extra=num_extra)
    if groupings is None:
        return None
    return Clos(
        order=order,
        leaves=fitting.leaves,
        rails_in_pods=fitting.rails_in_pods,
        levels=_levels(order, fitting.leaves, groupings),
    )


def fits_clos(order: ClosOrder, num_tiers: int | None) -> bool:
    """Return whether there is a network of *num_tiers* tiers, of any number for None."""
    return _first_fit(order, num_tiers) is not None


def _first_fit(order: ClosOrder, num_tiers: int | None) -> _Fitting | None:
    for tiers in range(1, MAX_TIERS + 1) if num_tiers is None else (num_tiers,):
        leaves = _single_switch(order) if tiers == 1 else _leaves(order)
        if leaves is None:
            continue
        for rails_in_pods in (False, True):
            fitting = _Fitting(leaves=leaves, num_tiers=tiers, rails_in_pods=rails_in_pods)
            if _group(order, fitting, num_extra=0):
                return fitting
    return None


def _thrift(clos: Clos) -> tuple[int, int, int]:
    num_cables = sum(level.num_switches * level.num_up for level in clos.levels)
    return _num_switches(clos), num_cables, clos.levels[1].num_blocks


def _num_switches(clos: Clos) -> int:
    return sum(level.num_switches for level in clos.levels)


def _single_switch(order: ClosOrder) -> Leaves | None:
    num_ports = order.num_nodes * order.num_nics
    if num_ports > min(order.ports.host_radix, order.hosts_per_leaf or num_ports):
        return None
    return Leaves(
        nodes_per_leaf=order.num_nodes,
        ports_per_leaf=num_ports,
        rails_per_leaf=order.num_nics,
        leaves_per_unit=1,
        num_units=1,
    )


def _leaves(order: ClosOrder) -> Leaves | None:
    num_hosts = order.hosts_per_leaf or order.ports.max_hosts(order.oversubscription)
    num_hosts = min(num_hosts, order.num_nodes * order.num_nics)
    if num_hosts == 0 or num_hosts > order.ports.host_radix:
        return None
    if order.ports.min_up(num_hosts, order.oversubscription) > order.ports.max_up(num_hosts):
        return None
    return _rail_leaves(order, num_hosts) if order.by_rail else _shared_leaves(order, num_hosts)


def _shared_leaves(order: ClosOrder, num_hosts: int) -> Leaves:
    nodes_per_leaf = num_hosts // order.num_nics
    ports_per_leaf = nodes_per_leaf * order.num_nics or num_hosts
    return Leaves(
        nodes_per_leaf=nodes_per_leaf,
        ports_per_leaf=ports_per_leaf,
        rails_per_leaf=order.num_nics,
        leaves_per_unit=1,
        num_units=-(-order.num_nodes * order.num_nics // ports_per_leaf),
    )


def _rail_leaves(order: ClosOrder, num_hosts: int) -> Leaves:
    """A leaf for each rail of as many nodes as it has ports; several rails when these are few."""
    nodes_per_leaf = min(num_hosts, order.num_nodes)
    leaves_per_unit = -(-order.num_nics // max(1, num_hosts // order.num_nodes))
    rails_per_leaf = -(-order.num_nics // leaves_per_unit)
    return Leaves(
        nodes_per_leaf=nodes_per_leaf,
        ports_per_leaf=nodes_per_leaf * rails_per_leaf,
        rails_per_leaf=rails_per_leaf,
        leaves_per_unit=-(-order.num_nics // rails_per_leaf),
        num_units=-(-order.num_nodes // nodes_per_leaf),
    )


def _group(order: ClosOrder, fitting: _Fitting, *, num_extra: int) -> list[_Grouping] | None:
    """Divide the leaves into pods, those into larger blocks, and so on; None if it cannot be."""
    leaves = fitting.leaves
    between = order.ports.between()
    max_down = between.max_hosts(order.spine_oversubscription)
    together = 1 if fitting.rails_in_pods else leaves.leaves_per_unit
    groupings = [_Grouping(num_blocks=leaves.num_leaves, num_lower=0, num_units=1)]
    if fitting.num_tiers == 1:
        return groupings
    if fitting.num_tiers > 2:
        if max_down < together:
            return None
        groupings.append(_pods(leaves, max_down, together=together, num_extra=num_extra))
    for _ in range(3, fitting.num_tiers):
        groupings.append(_evenly(groupings[-1], max_down))
    num_blocks = groupings[-1].num_blocks
    if num_blocks > between.radix:
        return None
    whole = _Grouping(num_blocks=1, num_lower=num_blocks, num_units=leaves.num_units)
    return [*groupings, whole]


def _pods(leaves: Leaves, max_down: int, *, together: int, num_extra: int) -> _Grouping:
    """Return the second tier's blocks below the top.

    Args:
        leaves: What to divide.
        max_down: Leaves that a pod has room for.
        together: Leaves of a unit that must share a pod: all, or only the one of each rail.
        num_extra: Pods beyond the fewest.
    """
    num_groups = -(-leaves.num_units // (max_down // together)) + num_extra
    num_units = -(-leaves.num_units // num_groups)
    num_groups = -(-leaves.num_units // num_units)
    return _Grouping(
        num_blocks=num_groups * leaves.leaves_per_unit // together,
        num_lower=num_units * together,
        num_units=num_units,
    )


def _evenly(below: _Grouping, max_down: int) -> _Grouping:
    num_blocks = -(-below.num_blocks // max_down)
    num_lower = -(-below.num_blocks // num_blocks)
    return _Grouping(
        num_blocks=num_blocks,
        num_lower=num_lower,
        num_units=below.num_units * num_lower,
    )


def _levels(order: ClosOrder, leaves: Leaves, groupings: list[_Grouping]) -> tuple[Level, ...]:
    """Choose how many switches top each block, and how many cables lead to each."""
    between = order.ports.between()
    max_down = between.max_hosts(order.spine_oversubscription)
    min_up = order.ports.min_up(leaves.ports_per_leaf, order.oversubscription)
    max_up = order.ports.max_up(leaves.ports_per_leaf)
    levels = [_leaf_level(order, leaves)]
    for tier, grouping in enumerate(groupings[1:], start=2):
        radix = between.radix if tier == len(groupings) else max_down
        num_spread, num_parallel = spread(
            min_up=min_up, max_up=max_up, num_lower=grouping.num_lower, radix=radix
        )
        num_down = grouping.num_lower * num_parallel
        below = replace(levels.pop(), num_up=num_spread * num_parallel)
        level = Level(
            num_blocks=grouping.num_blocks,
            num_per_block=below.num_per_block * num_spread,
            num_lower=grouping.num_lower,
            num_parallel=num_parallel,
            num_spread=num_spread,
            num_down=num_down,
            num_up=0,
            num_nodes=min(leaves.num_nodes(grouping.num_units), order.num_nodes),
        )
        levels += [below, level]
        min_up = between.min_up(num_down, order.spine_oversubscription)
        max_up = between.max_up(num_down)
    return tuple(levels)


def _leaf_level(order: ClosOrder, leaves: Leaves) -> Level:
    return Level(
        num_blocks=leaves.num_leaves,
        num_per_block=1,
        num_lower=0,
        num_parallel=0,
        num_spread=0,
        num_down=leaves.ports_per_leaf,
        num_up=0,
        num_nodes=min(leaves.num_nodes(1), order.num_nodes),
    )
