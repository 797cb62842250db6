"""Torus: switches at the points of a grid that wraps around in each dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from netloom.errors import InfeasibleError
from netloom.fabric.design import MAX_PATHS, Design, Reach, Stage, Tier
from netloom.fabric.topologies.entry import TopologyEntry, wired_pairs
from netloom.fabric.topologies.ports import switch_ports
from netloom.fabric.topologies.wiring import SwitchCables, shared_leaves
from netloom.spec.topology import Kind, TopologySpec

if TYPE_CHECKING:
    from netloom.fabric.topologies.ports import Ports
    from netloom.fabric.topologies.request import Request

__all__ = ["ENTRY", "Torus"]

Side = Annotated[int, Field(ge=1, le=65_536)]


class Torus(TopologySpec):
    """Nodes at the points of a grid that wraps around in each dimension."""

    kind: Annotated[Literal["torus"], Kind] = "torus"
    dimensions: Annotated[tuple[Side, ...], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="Switches along each dimension; the most even 3-D box when left out",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """A planned torus.

    Attributes:
        sizes: Switches along each dimension, those of size 1 left out; the first varies fastest.
        nodes_per_switch: On a full switch; the last ones may have fewer or none.
        width: Cables from a switch to its neighbour on either side, in each dimension.
    """

    ports: Ports
    sizes: tuple[int, ...]
    nodes_per_switch: int
    width: int

    @property
    def num_switches(self) -> int:
        """Points of the grid."""
        return math.prod(self.sizes)


def _plan(request: Request, topology: Torus) -> _Grid:
    """Return the grid: as asked for, or the most even 3-D box with hosts on half the ports.

    Raises:
        InfeasibleError: a switch has no ports left for its neighbours, or no node to serve.
    """
    ports = switch_ports(request.switch, rate_bps=request.nic_rate_bps, uplink_rate_bps=None)
    _check_grid(request, topology.dimensions)
    per_switch = max(1, ports.host_radix // 2 // request.num_nics)
    box = topology.dimensions or _even_box(-(-request.num_nodes // per_switch))
    nodes_per_switch = -(-request.num_nodes // math.prod(box))
    sizes = tuple(size for size in box if size > 1)
    num_hosts = nodes_per_switch * request.num_nics
    width = ports.max_up(num_hosts) // (2 * len(sizes)) if sizes else 0
    if num_hosts > ports.host_radix or (sizes and width < 1):
        raise InfeasibleError(_too_full(request, ports, nodes_per_switch, len(sizes)))
    return _Grid(ports=ports, sizes=sizes, nodes_per_switch=nodes_per_switch, width=width)


def _check_grid(request: Request, dimensions: tuple[int, ...] | None) -> None:
    if dimensions is None or math.prod(dimensions) <= request.num_nodes:
        return
    raise InfeasibleError(
        key="topology.dimensions",
        what=(
            f"{math.prod(dimensions):,} switches are more than the {request.num_nodes:,} "
            "nodes: use fewer switches along a dimension"
        ),
    )


def _even_box(num_points: int) -> tuple[int, int, int]:
    first = next(side for side in range(1, num_points + 1) if side**3 >= num_points)
    rest = -(-num_points // first)
    second = math.isqrt(rest - 1) + 1
    return first, second, -(-rest // second)


def _too_full(request: Request, ports: Ports, nodes_per_switch: int, num_dimensions: int) -> str:
    num_hosts = nodes_per_switch * request.num_nics
    # More switches than nodes are refused.
    more = "more switches along the dimensions, or " if nodes_per_switch > 1 else ""
    return (
        f"{num_hosts} NIC ports and cables to {2 * num_dimensions} neighbours do not "
        f"fit on the {ports.host_radix} ports of {request.switch.name}: "
        f"use {more}a switch with at least "
        f"{num_hosts + 2 * num_dimensions} ports"
    )


def _size(request: Request, topology: Torus) -> Design:
    """Return the torus that *topology* asks for.

    Raises:
        InfeasibleError: a switch has no ports left for its neighbours.
    """
    grid = _plan(request, topology)
    num_ports = request.num_nodes * request.num_nics
    num_dimensions = len(grid.sizes)
    hosts = Stage(
        lower="node", upper="switch", num_cables=num_ports, rate_bps=grid.ports.host_rate_bps
    )
    sideways = Stage(
        lower="switch",
        upper="switch",
        num_cables=grid.num_switches * num_dimensions * grid.width,
        rate_bps=grid.ports.rate_bps,
    )
    tier = Tier(
        name="switch",
        num_switches=grid.num_switches,
        num_down=grid.nodes_per_switch * request.num_nics,
        num_up=2 * num_dimensions * grid.width,
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
        stages=(hosts, sideways) if grid.sizes else (hosts,),
        reaches=_reaches(grid, request),
        notes=_notes(grid),
    )


def _reaches(grid: _Grid, request: Request) -> tuple[Reach, ...]:
    """One row for the own switch, then one for each dimension added."""
    first = Reach(
        tier="switch",
        num_nodes=min(grid.nodes_per_switch, request.num_nodes),
        num_hops=1,
        num_paths=1,
        num_links=0,
        num_switches=0,
        taper=1.0,
    )
    return (first, *(_reach(grid, request, count) for count in range(1, len(grid.sizes) + 1)))


def _reach(grid: _Grid, request: Request, num_dimensions: int) -> Reach:
    sizes = grid.sizes[:num_dimensions]
    num_switches = math.prod(sizes)
    num_hosts = num_switches * grid.nodes_per_switch * request.num_nics
    # Half the hosts may talk across the cut; the wrap-around makes it two cuts.
    cut = 2 * num_switches // max(sizes) * grid.width
    demand = num_hosts / 2 * grid.ports.host_rate_bps / grid.ports.rate_bps
    return Reach(
        tier=f"dimension {num_dimensions}",
        num_nodes=min(num_switches * grid.nodes_per_switch, request.num_nodes),
        num_hops=1 + sum(size // 2 for size in sizes),
        num_paths=min(_num_paths(sizes, grid.width), MAX_PATHS),
        num_links=2 * num_dimensions * grid.width,
        num_switches=num_switches,
        taper=max(1.0, demand / cut),
    )


def _num_paths(sizes: tuple[int, ...], width: int) -> int:
    """Return the shortest paths to the opposite point: orders of steps, sides, and cables.

    Where a dimension is even its opposite point is as near on either side.
    """
    steps = [size // 2 for size in sizes]
    orders = math.factorial(sum(steps))
    for step in steps:
        orders //= math.factorial(step)
    num_even = sum(size % 2 == 0 for size in sizes)
    return int(orders * 2**num_even * width ** sum(steps))


def _notes(grid: _Grid) -> tuple[str, ...]:
    if not grid.sizes:
        return ("a single switch joins all",)
    shape = " x ".join(str(size) for size in grid.sizes)
    return (f"{shape} switches, {grid.width} cables to each neighbour",)


def _wire(request: Request, topology: Torus) -> SwitchCables:
    """Return the cables of the torus that *topology* asks for.

    Where a dimension has two switches the cable around it runs beside the one between them.
    """
    grid = _plan(request, topology)
    switch = np.arange(grid.num_switches, dtype=np.int32)
    lower, upper = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    stride = 1
    for size in grid.sizes:
        place = switch // np.int32(stride) % np.int32(size)
        onward = np.where(place == size - 1, np.int32(stride * (1 - size)), np.int32(stride))
        lower.append(np.repeat(switch, grid.width))
        upper.append(np.repeat(switch + onward, grid.width))
        stride *= size
    return SwitchCables(
        port_switch=shared_leaves(request, grid.nodes_per_switch * request.num_nics),
        switch_tier=np.ones(grid.num_switches, np.int8),
        switch_plane=np.zeros(grid.num_switches, np.int16),
        switch_rail=np.full(grid.num_switches, -1, np.int16),
        lower=np.concatenate(lower),
        upper=np.concatenate(upper),
        rate_bps=grid.ports.rate_bps,
    )


ENTRY = TopologyEntry(
    name="torus",
    spec=Torus,
    size=_size,
    wire=_wire,
    side_pairs=wired_pairs,
    is_tiered=False,
    has_rails_apart=False,
    doubts=("A torus is modelled by its bisection; neighbours alone do better.",),
)
