"""HyperX: switches at the points of a grid, all of a line joined to one another.

Ahn et al., "HyperX: Topology, Routing, and Packaging of Efficient Large-Scale Networks" (SC 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from netloom.errors import InfeasibleError
from netloom.fabric.design import Design, Reach, Stage, Tier
from netloom.fabric.topologies.entry import TopologyEntry, wired_pairs
from netloom.fabric.topologies.ports import switch_ports
from netloom.fabric.topologies.wiring import SwitchCables, shared_leaves
from netloom.spec.topology import Kind, TopologySpec

if TYPE_CHECKING:
    from netloom.fabric.topologies.ports import Ports
    from netloom.fabric.topologies.request import Request

__all__ = ["ENTRY", "HyperX"]

Side = Annotated[int, Field(ge=2, le=256)]


class HyperX(TopologySpec):
    """Switches at the points of a grid, each with a cable to all others of its lines."""

    kind: Annotated[Literal["hyperx"], Kind] = "hyperx"
    dimensions: Annotated[tuple[Side, ...], Field(min_length=1, max_length=4)] | None = Field(
        default=None, description="Switches along each dimension; a square that fits when left out"
    )
    width: int = Field(default=1, ge=1, le=64, description="Cables between two switches of a line")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """A planned HyperX.

    Attributes:
        num_hosts: NIC ports on a full switch.
        num_side: Cables of a switch to its neighbours.
    """

    ports: Ports
    sizes: tuple[int, ...]
    width: int
    num_hosts: int
    num_side: int

    @property
    def num_switches(self) -> int:
        """Points of the grid."""
        return math.prod(self.sizes)


def _plan(request: Request, topology: HyperX) -> _Grid:
    """Return the grid asked for, or the smallest square that fits.

    Raises:
        InfeasibleError: hosts and neighbours do not fit on the switch.
    """
    ports = switch_ports(request.switch, rate_bps=request.nic_rate_bps, uplink_rate_bps=None)
    squares = ((side, side) for side in range(2, 257))
    for sizes in squares if topology.dimensions is None else (topology.dimensions,):
        num_hosts = -(-request.num_nodes // math.prod(sizes)) * request.num_nics
        num_side = topology.width * sum(size - 1 for size in sizes)
        if num_hosts <= ports.host_radix and num_side <= ports.max_up(num_hosts):
            return _Grid(
                ports=ports,
                sizes=sizes,
                width=topology.width,
                num_hosts=num_hosts,
                num_side=num_side,
            )
    message = (
        f"topology.dimensions: no grid of {request.switch.name} with {ports.host_radix} ports "
        f"joins {request.num_nodes * request.num_nics:,} NIC ports and all neighbours: "
        "use other dimensions, or kind: rail-only"
    )
    raise InfeasibleError(message)


def _size(request: Request, topology: HyperX) -> Design:
    grid = _plan(request, topology)
    num_ports = request.num_nodes * request.num_nics
    hosts = Stage(
        lower="node", upper="switch", num_cables=num_ports, rate_bps=grid.ports.host_rate_bps
    )
    sideways = Stage(
        lower="switch",
        upper="switch",
        num_cables=grid.num_switches * grid.num_side // 2,
        rate_bps=grid.ports.rate_bps,
    )
    tier = Tier(
        name="switch",
        num_switches=grid.num_switches,
        num_down=grid.num_hosts,
        num_up=grid.num_side,
    )
    return Design(
        topology=topology,
        num_nodes=request.num_nodes,
        num_gpus=request.num_gpus,
        num_rails=1,
        num_planes=1,
        num_ports=num_ports,
        port_rate_bps=grid.ports.host_rate_bps,
        switch=request.switch,
        radix=grid.ports.host_radix,
        tiers=(tier,),
        stages=(hosts, sideways),
        reaches=_reaches(request, grid),
        notes=(f"{' x '.join(map(str, grid.sizes))} switches",),
    )


def _reaches(request: Request, grid: _Grid) -> tuple[Reach, ...]:
    """One row for the own switch, then one for each dimension added."""
    per_switch = max(1, grid.num_hosts // request.num_nics)
    first = Reach(
        tier="switch",
        num_nodes=min(per_switch, request.num_nodes),
        num_hops=1,
        num_paths=1,
        num_links=0,
        num_switches=0,
        taper=1.0,
    )
    return (first, *(_reach(request, grid, count) for count in range(1, len(grid.sizes) + 1)))


def _reach(request: Request, grid: _Grid, count: int) -> Reach:
    sizes = grid.sizes[:count]
    num_switches = math.prod(sizes)
    # Cut in half, a line of S switches keeps a cable from each of one half to each of the other.
    host_bps = grid.num_hosts * grid.ports.host_rate_bps
    across_bps = min(size - size // 2 for size in sizes) * grid.width * grid.ports.rate_bps
    return Reach(
        tier=f"dimension {count}",
        num_nodes=min(num_switches * grid.num_hosts // request.num_nics, request.num_nodes),
        num_hops=1 + count,
        num_paths=math.factorial(count) * grid.width**count,
        num_links=grid.width * sum(size - 1 for size in sizes),
        num_switches=num_switches,
        taper=max(1.0, host_bps / across_bps),
    )


def _wire(request: Request, topology: HyperX) -> SwitchCables:
    grid = _plan(request, topology)
    place = np.stack(np.unravel_index(np.arange(grid.num_switches), grid.sizes[::-1]))
    one, other = np.triu_indices(grid.num_switches, k=1)
    in_line = (place[:, one] != place[:, other]).sum(axis=0) == 1
    lower, upper = (np.repeat(ends[in_line], grid.width) for ends in (one, other))
    return SwitchCables(
        port_switch=shared_leaves(request, grid.num_hosts),
        switch_tier=np.ones(grid.num_switches, np.int8),
        switch_plane=np.zeros(grid.num_switches, np.int16),
        switch_rail=np.full(grid.num_switches, -1, np.int16),
        lower=lower.astype(np.int32),
        upper=upper.astype(np.int32),
        rate_bps=grid.ports.rate_bps,
    )


ENTRY = TopologyEntry(
    name="hyperx",
    spec=HyperX,
    size=_size,
    wire=_wire,
    side_pairs=wired_pairs,
    is_tiered=False,
    has_rails_apart=False,
    doubts=("A HyperX is taken with minimal routes; no measurement was compared with it.",),
)
