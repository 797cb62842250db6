"""Fabrics small enough to check by eye, put together cable by cable."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from netloom.fabric.design import Design, Tier
from netloom.fabric.graph import Fabric, LinkState, VertexKind
from netloom.fabric.routing.flows import Flows
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.parts.parts import PortMode, Switch

RATE_BPS = 400e9
TIER_NAMES = ("leaf", "spine", "core")


@dataclass
class Machine:
    """A node: GPU i owns NIC port i of every plane; a scale-up switch joins the GPUs."""

    num_gpus: int
    leaves: list[list[int]]  # for each GPU, the leaf of each of its ports
    rails_apart: bool = False
    one_plane: bool = False  # all ports of a GPU are in plane 0
    mesh: bool = False  # direct cables between the GPUs in a line, and no scale-up switch


@dataclass
class Parts:
    """Vertices by kind and the cables between them, before they get their numbers."""

    machines: list[Machine] = field(default_factory=list)
    tiers: list[int] = field(default_factory=list)  # switches in each tier
    # (tier, number) of the lower and of the upper end
    cables: list[tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=list)
    planes: dict[tuple[int, int], int] = field(default_factory=dict)


def fabric(parts: Parts) -> Fabric:
    num_gpus = sum(machine.num_gpus for machine in parts.machines)
    num_ports = sum(len(ports) for machine in parts.machines for ports in machine.leaves)
    switched = [m for m in parts.machines if m.num_gpus > 1 and not m.mesh]
    first_switch = num_gpus + num_ports + len(switched)
    bases = np.cumsum([first_switch, *parts.tiers])
    kind = [VertexKind.GPU] * num_gpus + [VertexKind.NIC] * num_ports
    kind += [VertexKind.SCALE_UP] * len(switched) + [VertexKind.SWITCH] * sum(parts.tiers)
    tier = [0] * first_switch
    node, plane, rail = [-1] * len(kind), [0] * len(kind), [-1] * len(kind)
    for number, count in enumerate(parts.tiers, start=1):
        tier += [number] * count
    for (level, number), plane_number in parts.planes.items():
        plane[bases[level - 1] + number] = plane_number
    ends = _machines(parts, (num_gpus, num_ports), int(bases[0]), (node, plane, rail))
    ends += [
        (int(bases[low[0] - 1]) + low[1], int(bases[high[0] - 1]) + high[1])
        for low, high in parts.cables
    ]
    cables = np.array(ends, dtype=np.int32).reshape(-1, 2)
    built = Fabric(
        design=_design(parts, num_gpus, num_ports),
        vertex_kind=np.array(kind, dtype=np.uint8),
        vertex_tier=np.array(tier, dtype=np.int8),
        vertex_node=np.array(node, dtype=np.int32),
        vertex_plane=np.array(plane, dtype=np.int16),
        vertex_rail=np.array(rail, dtype=np.int16),
        link_source=cables.reshape(-1),
        link_target=cables[:, ::-1].reshape(-1).copy(),
        link_rate_bps=np.full(2 * len(cables), RATE_BPS),
        link_slowdown=np.ones(2 * len(cables), dtype=np.float32),
        link_state=np.full(2 * len(cables), LinkState.UP, dtype=np.uint8),
    )
    for column in fields(Fabric):
        if column.name != "design":
            getattr(built, column.name).setflags(write=False)
    return built


def _machines(
    parts: Parts,
    counts: tuple[int, int],
    first_leaf: int,
    columns: tuple[list[int], list[int], list[int]],
) -> list[tuple[int, int]]:
    node, plane, rail = columns
    gpu, port, scale_up = 0, counts[0], counts[0] + counts[1]
    ends: list[tuple[int, int]] = []
    for number, machine in enumerate(parts.machines):
        gpus = range(gpu, gpu + machine.num_gpus)
        if machine.mesh:
            ends += [(one, one + 1) for one in gpus[:-1]]
        elif machine.num_gpus > 1:
            ends += [(one, scale_up) for one in gpus]
            node[scale_up] = number
            scale_up += 1
        for index, one in enumerate(gpus):
            node[one] = number
            for port_plane, leaf in enumerate(machine.leaves[index]):
                ends += [(one, port), (port, first_leaf + leaf)]
                node[port], plane[port] = number, 0 if machine.one_plane else port_plane
                rail[port] = index if machine.rails_apart else -1
                port += 1
        gpu += machine.num_gpus
    return ends


def _design(parts: Parts, num_gpus: int, num_ports: int) -> Design:
    mode = PortMode.model_validate({"count": 64, "rate": "400Gbps"})
    switch = Switch(name="test", vendor="none", asic="none", protocol="ethernet", modes=(mode,))
    return Design(
        topology=FatTree(),
        num_nodes=len(parts.machines),
        num_gpus=num_gpus,
        num_rails=1,
        num_planes=1,
        num_ports=num_ports,
        port_rate_bps=RATE_BPS,
        switch=switch,
        radix=64,
        tiers=tuple(
            Tier(name=name, num_switches=count, num_down=0, num_up=0)
            for name, count in zip(TIER_NAMES, parts.tiers, strict=False)
        ),
        stages=(),
        reaches=(),
    )


def leaf_spine(num_leaves: int, num_spines: int, num_hosts: int, *, parallel: int = 1) -> Fabric:
    """*num_hosts* one-GPU nodes a leaf, *parallel* cables from each leaf to each spine."""
    hosts = [Machine(1, [[leaf]]) for leaf in range(num_leaves) for _ in range(num_hosts)]
    cables = [
        ((1, leaf), (2, spine))
        for leaf in range(num_leaves)
        for spine in range(num_spines)
        for _ in range(parallel)
    ]
    return fabric(Parts(machines=hosts, tiers=[num_leaves, num_spines], cables=cables))


def clos3(
    num_pods: int, num_leaves: int, num_spines: int, num_cores: int, num_hosts: int
) -> Fabric:
    """Pods of leaves and spines; spine j of every pod has a cable to *num_cores* of its own."""
    leaves = num_pods * num_leaves
    hosts = [Machine(1, [[leaf]]) for leaf in range(leaves) for _ in range(num_hosts)]
    cables = [
        ((1, pod * num_leaves + leaf), (2, pod * num_spines + spine))
        for pod in range(num_pods)
        for leaf in range(num_leaves)
        for spine in range(num_spines)
    ]
    cables += [
        ((2, pod * num_spines + spine), (3, spine * num_cores + core))
        for pod in range(num_pods)
        for spine in range(num_spines)
        for core in range(num_cores)
    ]
    tiers = [leaves, num_pods * num_spines, num_spines * num_cores]
    return fabric(Parts(machines=hosts, tiers=tiers, cables=cables))


def joined_spines(num_leaves: int, num_spines: int, num_cores: int, num_hosts: int) -> Fabric:
    """Every leaf has a cable to every spine, and every spine to every core."""
    hosts = [Machine(1, [[leaf]]) for leaf in range(num_leaves) for _ in range(num_hosts)]
    cables = [((1, leaf), (2, spine)) for leaf in range(num_leaves) for spine in range(num_spines)]
    cables += [((2, spine), (3, core)) for spine in range(num_spines) for core in range(num_cores)]
    tiers = [num_leaves, num_spines, num_cores]
    return fabric(Parts(machines=hosts, tiers=tiers, cables=cables))


def fat_tree(k: int) -> Fabric:
    """The three-tier fat tree of k-port switches: k^3/4 hosts (Al-Fares et al. 2008)."""
    return clos3(k, k // 2, k // 2, k // 2, k // 2)


def torus(*sizes: int, num_hosts: int = 1) -> Fabric:
    """Switches on a grid that wraps around; ``torus(5)`` is a ring."""
    grid = np.arange(int(np.prod(sizes))).reshape(sizes)
    cables = [
        ((1, int(here)), (1, int(there)))
        for axis in range(len(sizes))
        for here, there in zip(grid.flat, np.roll(grid, -1, axis).flat, strict=True)
    ]
    hosts = [Machine(1, [[leaf]]) for leaf in range(grid.size) for _ in range(num_hosts)]
    return fabric(Parts(machines=hosts, tiers=[grid.size], cables=cables))


def dragonfly_plus(num_groups: int) -> Fabric:
    """Groups of two leaves and two spines; a cable joins one spine of every two groups."""
    hosts = [Machine(1, [[leaf]]) for leaf in range(2 * num_groups)]
    cables = [
        ((1, 2 * group + leaf), (2, 2 * group + spine))
        for group in range(num_groups)
        for leaf in range(2)
        for spine in range(2)
    ]
    cables += [
        ((2, 2 * one + (one + other) % 2), (2, 2 * other + (one + other) % 2))
        for one in range(num_groups)
        for other in range(one + 1, num_groups)
    ]
    tiers = [2 * num_groups, 2 * num_groups]
    return fabric(Parts(machines=hosts, tiers=tiers, cables=cables))


def rails(num_nodes: int, num_rails: int, *, num_spines: int) -> Fabric:
    """One leaf a rail; without spines the rails do not meet (rail-only)."""
    ports = [[rail] for rail in range(num_rails)]
    hosts = [Machine(num_rails, ports, rails_apart=True) for _ in range(num_nodes)]
    cables = [((1, rail), (2, spine)) for rail in range(num_rails) for spine in range(num_spines)]
    tiers = [num_rails, num_spines] if num_spines else [num_rails]
    return fabric(Parts(machines=hosts, tiers=tiers, cables=cables))


def two_planes(num_nodes: int) -> Fabric:
    """One-GPU nodes with a port in each of two planes, a single leaf each."""
    hosts = [Machine(1, [[0, 1]]) for _ in range(num_nodes)]
    return fabric(Parts(machines=hosts, tiers=[2], planes={(1, 1): 1}))


def mesh_nodes() -> Fabric:
    """Two nodes of four GPUs that are joined in a line, all ports on one leaf."""
    hosts = [Machine(4, [[0]] * 4, mesh=True) for _ in range(2)]
    return fabric(Parts(machines=hosts, tiers=[1]))


def flows(pairs: list[tuple[int, int]], *, ports: list[int] | None = None) -> Flows:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    numbers = ports if ports is not None else [0xC000] * len(pairs)
    return Flows(
        source=ends[:, 0].copy(),
        target=ends[:, 1].copy(),
        source_port=np.array(numbers, dtype=np.uint16),
    )


def all_pairs(built: Fabric) -> Flows:
    num_gpus = built.design.num_gpus
    return flows([(a, b) for a in range(num_gpus) for b in range(num_gpus) if a != b])
