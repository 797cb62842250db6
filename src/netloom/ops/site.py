"""The plant with what people who install and configure it need: names, racks, lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric import build as builder
from netloom.fabric.cost.layout import nodes_per_rack
from netloom.fabric.cost.places import place
from netloom.fabric.graph import VertexKind
from netloom.ops.plant import plant_of
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.catalog.load import Catalog
    from netloom.fabric.cost.places import Places
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.ops.plant import Cable, Plant, Port
    from netloom.spec.scenario import Scenario

__all__ = ["NicPort", "Seat", "Site", "peer_of", "site_of"]

TOP_UNIT = 42  # of a rack of 42 units, the usual height


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where a box stands: ``R012``, unit 1 at the bottom."""

    rack: str
    unit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPort:
    """One port of a node's NICs.

    Attributes:
        node: Number of the node.
        nic: Which of the node's NICs, counted from 0.
        plane: Which port of the NIC.
    """

    node: int
    nic: int
    plane: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Site:
    """A scenario's network on its floor.

    Attributes:
        plant: NIC ports (hosts) and switches, with numbered ports, and the cables between them.
        nics: The NIC port that each host of the plant is, in the plant's order.
        places: Racks and cable lengths.
    """

    scenario: Scenario
    network: Network
    fabric: Fabric
    plant: Plant
    nics: tuple[NicPort, ...]
    places: Places

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """The name of each node: ``n0000`` ..."""
        digits = max(4, len(str(self.network.design.num_nodes - 1)))
        return tuple(f"n{node:0{digits}}" for node in range(self.network.design.num_nodes))

    @cached_property
    def hostnames(self) -> tuple[str, ...]:
        """The name of each device's box, in the plant's order; that of the node for a NIC port."""
        return tuple(self._hostname(number) for number in range(len(self.plant.devices)))

    def _hostname(self, number: int) -> str:
        if number < len(self.nics):
            return self.node_names[self.nics[number].node]
        kind, _, index = self.plant.devices[number].name.partition(":")
        return f"{kind}{int(index):0{max(3, len(str(len(self.plant.devices))))}}"

    def interface(self, host: int) -> str:
        """Return what the node calls a NIC port: ``mlx5_3``; planes of a NIC are ``mlx5_3p1``."""
        nic = self.nics[host]
        planes = self.network.design.num_planes
        return f"mlx5_{nic.nic}" + (f"p{nic.plane}" if planes > 1 else "")

    def seat(self, number: int) -> Seat:
        """Return where a device of the plant stands."""
        return self._seats[number]

    @cached_property
    def _seats(self) -> tuple[Seat, ...]:
        taken: dict[int, int] = {}
        seats: dict[str, Seat] = {}
        for number in range(len(self.plant.devices) - 1, -1, -1):  # switches first, at the top
            name = self.hostnames[number]
            if name not in seats:
                rack = int(self.places.rack[self._vertex(number)])
                seats[name] = Seat(rack=f"R{rack:03}", unit=self._unit(number, rack, taken))
        return tuple(seats[name] for name in self.hostnames)

    def _unit(self, number: int, rack: int, taken: dict[int, int]) -> int:
        if number < len(self.nics):
            per_rack = nodes_per_rack(self.scenario.cluster.fabric.floor, self.network.node)
            return 1 + (self.nics[number].node % per_rack) * (TOP_UNIT // (per_rack + 1))
        taken[rack] = taken.get(rack, 0) + 1
        return max(1, TOP_UNIT - taken[rack] + 1)

    def _vertex(self, number: int) -> int:
        return int(self._vertices[number])

    @cached_property
    def _vertices(self) -> np.ndarray:
        kind = self.fabric.vertex_kind
        return np.flatnonzero((kind == VertexKind.NIC) | (kind == VertexKind.SWITCH))

    def length_m(self, cable: Cable) -> float:
        """Return the length of a cable."""
        return float(self.places.cable_m[cable.number])

    def is_host(self, port: Port) -> bool:
        """Return whether a port belongs to a NIC."""
        return port.device < len(self.nics)

    @cached_property
    def cables_of(self) -> dict[int, tuple[Cable, ...]]:
        """The cables of each device, in the order of its ports."""
        found: dict[int, list[tuple[int, Cable]]] = {n: [] for n in range(len(self.plant.devices))}
        for cable in self.plant.cables:
            for port in cable.ends:
                found[port.device].append((port.number, cable))
        return {
            number: tuple(cable for _, cable in sorted(ports, key=lambda one: one[0]))
            for number, ports in found.items()
        }


def site_of(scenario: Scenario, catalog: Catalog) -> Site:
    """Return the site of *scenario*: its network built, named, placed and measured."""
    network = network_of(scenario.cluster, catalog)
    fabric = builder.build(network.design, network.node, network.scale_up)
    floor = scenario.cluster.fabric.floor
    return Site(
        scenario=scenario,
        network=network,
        fabric=fabric,
        plant=plant_of(fabric),
        nics=_nics(fabric, network),
        places=place(fabric, floor, per_rack=nodes_per_rack(floor, network.node)),
    )


def _nics(fabric: Fabric, network: Network) -> tuple[NicPort, ...]:
    """NIC ports are numbered by node, NIC and plane."""
    planes = network.design.num_planes
    nodes = fabric.vertex_node[fabric.vertex_kind == VertexKind.NIC].tolist()
    per_node = len(nodes) // network.design.num_nodes
    return tuple(
        NicPort(node=node, nic=number % per_node // planes, plane=number % planes)
        for number, node in enumerate(nodes)
    )


def peer_of(cable: Cable, device: int) -> tuple[Port, Port]:
    """Return the port of *device* on a cable, and the one at its other end."""
    lower, upper = cable.ends
    return (lower, upper) if lower.device == device else (upper, lower)
