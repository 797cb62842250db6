"""Dragonfly+: groups of leaves and spines, with cables between the spines of all groups.

Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters" (HiPINEB 2017): a leaf
has k/2 hosts and k/2 uplinks, a spine k/2 downlinks and k/2 global cables, and every group is
joined to every other by the same number of global cables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

import numpy as np
from pydantic import Field

from netloom.errors import InfeasibleError
from netloom.fabric.design import Design, Reach, Stage, Tier
from netloom.fabric.topologies.entry import TopologyEntry
from netloom.fabric.topologies.ports import spread, switch_ports
from netloom.fabric.topologies.wiring import SwitchCables, shared_leaves
from netloom.spec.topology import Kind, TopologySpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.fabric.topologies.entry import Pairs, SwitchSlots
    from netloom.fabric.topologies.ports import Ports
    from netloom.fabric.topologies.request import Request

__all__ = ["ENTRY", "DragonflyPlus"]

# Racks of spines whose distances are measured one by one; of more, evenly spaced ones stand for
# all.
MAX_PARTNERS: Final = 256


class DragonflyPlus(TopologySpec):
    """Groups of leaf and spine switches; spines hold the global links between groups."""

    kind: Annotated[Literal["dragonfly-plus"], Kind] = "dragonfly-plus"
    groups: Annotated[int, Field(ge=2, le=65_536)] | None = Field(
        default=None, description="Groups of switches; the fewest that fit when left out"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DragonflyPlan:
    """A planned dragonfly+.

    Attributes:
        nodes_per_leaf: Nodes on a full leaf; 0 when a node needs several leaves.
        ports_per_leaf: Host ports on a full leaf.
        num_leaves: In all groups; the first groups have one more where they do not divide.
        num_spines: In one group.
        num_parallel: Cables between each leaf and each spine of a group.
        num_global: Cables between each pair of groups.
    """

    ports: Ports
    nodes_per_leaf: int
    ports_per_leaf: int
    num_leaves: int
    num_groups: int
    num_spines: int
    num_parallel: int
    num_global: int

    @property
    def leaves_per_group(self) -> int:
        """Leaves of the largest group."""
        return -(-self.num_leaves // self.num_groups)

    @property
    def globals_per_spine(self) -> int:
        """Global cables of the fullest spine."""
        return -(-self.num_global * (self.num_groups - 1) // self.num_spines)


def _plan(request: Request, topology: DragonflyPlus) -> _DragonflyPlan:
    """Return the counts of the dragonfly+ that *topology* asks for.

    Raises:
        InfeasibleError: it has too many groups for its global cables, or too few hosts for them.
    """
    ports = switch_ports(request.switch, rate_bps=request.nic_rate_bps, uplink_rate_bps=None)
    half = ports.between().max_hosts(1)
    num_ports = request.num_nodes * request.num_nics
    num_hosts = min(ports.max_hosts(1), num_ports)
    if num_hosts == 0 or half == 0:
        raise InfeasibleError(_too_large(request, ports, num_ports))
    nodes_per_leaf = num_hosts // request.num_nics
    ports_per_leaf = nodes_per_leaf * request.num_nics or num_hosts
    num_leaves = -(-num_ports // ports_per_leaf)
    fewest = -(-num_leaves // half)
    # One global cable to every other group; a group has as many spines as a leaf has uplinks.
    most = min(num_leaves, 1 + ports.min_up(ports_per_leaf, 1) * half)
    if fewest > most:
        raise InfeasibleError(_too_large(request, ports, num_ports))
    num_groups = topology.groups or fewest
    _check_groups(num_groups, fewest=fewest, most=most, num_leaves=num_leaves)
    num_spines, num_parallel = _spines(
        ports, ports_per_leaf, num_lower=-(-num_leaves // num_groups), num_groups=num_groups
    )
    num_global = num_spines * half // max(1, num_groups - 1)
    assert num_global > 0, (num_spines, half, num_groups)
    return _DragonflyPlan(
        ports=ports,
        nodes_per_leaf=nodes_per_leaf,
        ports_per_leaf=ports_per_leaf,
        num_leaves=num_leaves,
        num_groups=num_groups,
        num_spines=num_spines,
        num_parallel=num_parallel,
        num_global=num_global if num_groups > 1 else 0,
    )


def _spines(
    ports: Ports, ports_per_leaf: int, *, num_lower: int, num_groups: int
) -> tuple[int, int]:
    """Return spines of a group and cables to each, enough spines for a cable to every group."""
    half = ports.between().max_hosts(1)
    min_up = ports.min_up(ports_per_leaf, 1)
    num_spines, num_parallel = spread(
        min_up=min_up, max_up=ports.max_up(ports_per_leaf), num_lower=num_lower, radix=half
    )
    if num_spines * half < num_groups - 1:
        return min_up, 1
    return num_spines, num_parallel


def _check_groups(num_groups: int, *, fewest: int, most: int, num_leaves: int) -> None:
    if fewest <= num_groups <= most:
        return
    if num_groups < fewest:
        reason, remedy = f"too few for {num_leaves:,} leaves", f"use groups: {fewest} or more"
    else:
        few = num_leaves == most
        limit = "leaves that the nodes fill" if few else "groups that global cables can join"
        reason = f"more than the {most:,} {limit}"
        # One group is no dragonfly+, and 'groups' starts at 2.
        remedy = f"use groups: {most} or fewer" if most > 1 else "leave groups out"
    raise InfeasibleError(
        key="topology.groups", what=f"{num_groups:,} groups are {reason}: {remedy}"
    )


def _too_large(request: Request, ports: Ports, num_ports: int) -> str:
    half = ports.host_radix // 2
    return (
        f"a dragonfly+ of {request.switch.name} with {ports.host_radix} ports ends at "
        f"{half**2 * (half**2 + 1):,} NIC ports; this cluster has {num_ports:,}: "
        f"use a switch with more ports, or kind: rail-only"
    )


def _size(request: Request, topology: DragonflyPlus) -> Design:
    """Return the dragonfly+ that *topology* asks for.

    Raises:
        InfeasibleError: the switch has too few ports; the message says what would do.
    """
    plan = _plan(request, topology)
    return Design(
        topology=topology,
        num_nodes=request.num_nodes,
        num_gpus=request.num_gpus,
        num_rails=1,
        num_planes=1,
        num_ports=request.num_nodes * request.num_nics,
        port_rate_bps=plan.ports.host_rate_bps,
        switch=request.switch,
        radix=plan.ports.host_radix,
        tiers=_tiers(plan),
        stages=_stages(plan, request),
        reaches=_reaches(plan, request),
        notes=_notes(plan),
    )


def _tiers(plan: _DragonflyPlan) -> tuple[Tier, ...]:
    leaf = Tier(
        name="leaf",
        num_switches=plan.num_leaves,
        num_down=plan.ports_per_leaf,
        num_up=plan.num_spines * plan.num_parallel,
    )
    spine = Tier(
        name="spine",
        num_switches=plan.num_groups * plan.num_spines,
        num_down=plan.leaves_per_group * plan.num_parallel,
        num_up=plan.globals_per_spine,
    )
    return (leaf, spine)


def _stages(plan: _DragonflyPlan, request: Request) -> tuple[Stage, ...]:
    ports = plan.ports
    hosts = Stage(
        lower="node",
        upper="leaf",
        num_cables=request.num_nodes * request.num_nics,
        rate_bps=ports.host_rate_bps,
    )
    local = Stage(
        lower="leaf",
        upper="spine",
        num_cables=plan.num_leaves * plan.num_spines * plan.num_parallel,
        rate_bps=ports.rate_bps,
    )
    if plan.num_groups == 1:
        return (hosts, local)
    num_pairs = plan.num_groups * (plan.num_groups - 1) // 2
    between = Stage(
        lower="spine",
        upper="spine",
        num_cables=num_pairs * plan.num_global,
        rate_bps=ports.rate_bps,
    )
    return (hosts, local, between)


def _reaches(plan: _DragonflyPlan, request: Request) -> tuple[Reach, ...]:
    per_leaf = max(1, plan.nodes_per_leaf)
    host_bps = plan.ports_per_leaf * plan.ports.host_rate_bps
    num_up = plan.num_spines * plan.num_parallel
    leaf = Reach(
        tier="leaf",
        num_nodes=per_leaf,
        num_hops=1,
        num_paths=1,
        num_links=0,
        num_switches=0,
        taper=1.0,
    )
    group = Reach(
        tier="spine",
        num_nodes=min(request.num_nodes, _nodes_in_group(plan, request)),
        num_hops=3,
        num_paths=plan.num_spines * plan.num_parallel**2,
        num_links=num_up,
        num_switches=plan.leaves_per_group,
        taper=max(1.0, host_bps / (num_up * plan.ports.rate_bps)),
    )
    if plan.num_groups == 1:
        return (leaf, group)
    global_bps = plan.num_global * (plan.num_groups - 1) * plan.ports.rate_bps
    whole = Reach(
        tier="global",
        num_nodes=request.num_nodes,
        num_hops=4,
        num_paths=plan.num_global * plan.num_parallel**2,
        num_links=plan.globals_per_spine,
        num_switches=plan.num_groups * plan.num_spines,
        taper=max(group.taper, plan.leaves_per_group * host_bps / global_bps),
    )
    return (leaf, group, whole)


def _nodes_in_group(plan: _DragonflyPlan, request: Request) -> int:
    num_ports = plan.leaves_per_group * plan.ports_per_leaf
    return max(1, num_ports // request.num_nics)


def _notes(plan: _DragonflyPlan) -> tuple[str, ...]:
    if plan.num_groups == 1:
        return ("one group holds the whole cluster: this is a two-tier leaf and spine network",)
    return (f"{plan.num_groups} groups, each pair joined by {plan.num_global} cables",)


def _wire(request: Request, topology: DragonflyPlus) -> SwitchCables:
    """Return the cables of the dragonfly+ that *topology* asks for."""
    plan = _plan(request, topology)
    num_spines = plan.num_groups * plan.num_spines
    num_switches = plan.num_leaves + num_spines
    local, between = _local_cables(plan), _global_cables(plan)
    return SwitchCables(
        port_switch=shared_leaves(request, plan.ports_per_leaf),
        switch_tier=np.repeat(np.array([1, 2], np.int8), [plan.num_leaves, num_spines]),
        switch_plane=np.zeros(num_switches, np.int16),
        switch_rail=np.full(num_switches, -1, np.int16),
        lower=np.concatenate([local[0], between[0]]),
        upper=np.concatenate([local[1], between[1]]),
        rate_bps=plan.ports.rate_bps,
    )


def _local_cables(plan: _DragonflyPlan) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    leaf = np.arange(plan.num_leaves, dtype=np.int32)
    smaller, num_larger = divmod(plan.num_leaves, plan.num_groups)
    sizes = np.full(plan.num_groups, smaller)
    sizes[:num_larger] += 1
    group = np.repeat(np.arange(plan.num_groups, dtype=np.int32), sizes)
    num_up = plan.num_spines * plan.num_parallel
    spine = np.arange(num_up, dtype=np.int32) % np.int32(plan.num_spines)
    first = np.int32(plan.num_leaves) + group * np.int32(plan.num_spines)
    return np.repeat(leaf, num_up), (first[:, None] + spine[None, :]).ravel()


def _global_cables(plan: _DragonflyPlan) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Deal the cables of each group out to its spines in turn, peer after peer."""
    one, other = (ends.astype(np.int32)[:, None] for ends in np.triu_indices(plan.num_groups, k=1))
    cable = np.arange(plan.num_global, dtype=np.int32)[None, :]
    num_spines = np.int32(plan.num_spines)

    def spine(group: NDArray[np.int32], peer: NDArray[np.int32]) -> NDArray[np.int32]:
        turn = (peer * np.int32(plan.num_global) + cable) % num_spines
        return (np.int32(plan.num_leaves) + group * num_spines + turn).ravel()

    # A group counts its peers without itself: a later one by one less than its number.
    return spine(one, other - np.int32(1)), spine(other, one)


def _between_groups(design: Design, slots: SwitchSlots) -> Iterator[Pairs]:
    """Yield all pairs of racks of different groups: each group is joined to every other."""
    del design
    everyone = np.arange(len(slots.group))
    for one in everyone[:: -(-len(everyone) // MAX_PARTNERS)]:
        others = everyone[slots.group != slots.group[one]]
        yield np.full(len(others), one), others, slots.weight[others] * slots.weight[one]


ENTRY = TopologyEntry(
    name="dragonfly-plus",
    spec=DragonflyPlus,
    size=_size,
    wire=_wire,
    side_pairs=_between_groups,
    is_tiered=False,
    has_rails_apart=False,
    doubts=(
        (
            "A dragonfly+ is modelled with even traffic; a whole group that sends to one other "
            "group does worse."
        ),
    ),
)
