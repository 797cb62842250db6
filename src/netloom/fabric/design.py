"""The plan of a scale-out network: how many of what, before a single array is allocated.

Sizing rules turn a cluster into a :class:`Design`; the builders turn a design into a
:class:`~netloom.fabric.graph.Fabric`, the cost model into a bill of materials, and the
analytic engine reads its :class:`Reach` table. All three must agree, and tests hold them to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.parts.parts import Switch
    from netloom.spec.topology import Topology

__all__ = ["MAX_PATHS", "Design", "Reach", "Stage", "Tier"]

MAX_PATHS: Final = 2**31 - 1  # what an int32 holds; a torus has more shortest paths than that


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """The switches of one level, all planes and rails together.

    Attributes:
        name: ``leaf``, ``spine``, ``core``, or what the topology calls it.
        num_switches: How many.
        num_down: Ports of one switch in use towards the hosts, on the fullest one.
        num_up: Ports of one switch in use towards the tier above (or, in a torus or between
            dragonfly groups, sideways), on the fullest one.
    """

    name: str
    num_switches: int
    num_down: int
    num_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The cables between two adjacent levels.

    Attributes:
        lower: ``node`` or a tier's name.
        upper: A tier's name; the same as *lower* for sideways cables.
        num_cables: How many, all planes and rails together.
        rate_bps: Of one cable, one direction.
    """

    lower: str
    upper: str
    num_cables: int
    rate_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a NIC gets without going higher than one tier.

    Counts are those of a full leaf, pod or group; what is left over at the end of a ragged
    cluster reaches the same height over as many paths, but finds fewer nodes there.

    Attributes:
        tier: The highest tier on the way; in a dragonfly+ ``global`` for the cables between
            groups, in a torus ``dimension 1`` and so on.
        num_nodes: Nodes whose NICs (of the same rail, where rails are wired apart) lie in reach,
            the own node included.
        num_hops: Switches crossed on the way to the farthest of them.
        num_paths: Shortest paths to it, parallel cables counted apart, in one plane; at most
            :data:`MAX_PATHS`.
        num_links: Cables leaving one switch below that tier towards it; 0 for the first tier.
        num_switches: Switches of the tier below within reach, over which flows collide
            independently, all planes and rails together; 0 for the first tier.
        taper: Host bandwidth over the bandwidth available at this height, 1 or more.
    """

    tier: str
    num_nodes: int
    num_hops: int
    num_paths: int
    num_links: int
    num_switches: int
    taper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A sized network.

    Attributes:
        topology: What was asked for.
        num_nodes: Machines attached.
        num_gpus: GPUs in them.
        num_rails: NICs of a node that are wired apart from one another; 1 when they share leaves.
        num_planes: Parallel networks that each NIC is split over.
        num_ports: NIC ports attached, all planes together.
        port_rate_bps: Of one NIC port (the NIC's rate divided by the planes).
        switch: The switch all tiers are made of.
        radix: Its ports at *port_rate_bps*.
        tiers: From the hosts up.
        stages: From the hosts up; the first is ``node`` to the first tier.
        reaches: From the nearest to the whole network.
        hosts_per_node: Computers of a node that were wired one by one, each with its NICs.
        notes: What a reader should know: ports left free, rounding, limits nearby.
    """

    topology: Topology
    num_nodes: int
    num_gpus: int
    num_rails: int
    num_planes: int
    num_ports: int
    port_rate_bps: float
    switch: Switch
    radix: int
    tiers: tuple[Tier, ...]
    stages: tuple[Stage, ...]
    reaches: tuple[Reach, ...]
    hosts_per_node: int = 1
    notes: tuple[str, ...] = ()

    @property
    def num_switches(self) -> int:
        """Switches in all."""
        return sum(tier.num_switches for tier in self.tiers)

    @property
    def num_cables(self) -> int:
        """Cables in all."""
        return sum(stage.num_cables for stage in self.stages)
