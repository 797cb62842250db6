"""The plant with what people who install and configure it need: names, racks, lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import CatalogError
from netloom.fabric import build as builder
from netloom.fabric.cost.cabling import cable_up
from netloom.fabric.cost.layout import LENGTHS_M, lay_out, nodes_per_rack
from netloom.fabric.cost.places import place
from netloom.fabric.graph import VertexKind
from netloom.ops.plant import plant_of
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.fabric.cost.modules import CableGroup
    from netloom.fabric.cost.places import Places
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.ops.plant import Cable, Plant, Port
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["Cage", "NicPort", "RackUnit", "Site", "peer_of", "site_of"]

TOP_UNIT: Final = 42  # of a rack of 42 units, the usual height
# What Linux calls the RDMA devices of a vendor's NICs: the names of their kernel drivers.
DEVICES: Final = {"NVIDIA": "mlx5_", "Broadcom": "bnxt_re", "AMD": "ionic_", "Intel": "irdma"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RackUnit:
    """Where a box stands: ``R012``, unit 1 at the bottom."""

    rack: str
    unit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cage:
    """Where a switch port is plugged in.

    Attributes:
        number: Of the cage, counted from 1 as printed on the switch.
        slot: Which of the ports that share its transceiver, counted from 0.
        num_slots: Ports that share it.
    """

    number: int
    slot: int
    num_slots: int

    @property
    def label(self) -> str:
        """As on the switch: ``1/7``, or ``1/7/2`` for the second port of a split cage."""
        return f"1/{self.number}" + (f"/{self.slot + 1}" if self.num_slots > 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPort:
    """One port of a computer's NICs.

    Attributes:
        node: Number of the node.
        computer: Number of the computer: the node itself, or one of the trays that a node which
            is a rack has; counted over all nodes.
        index: Which of the computer's ports, counted from 0, planes of a NIC side by side.
    """

    node: int
    computer: int
    index: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Site:
    """A scenario's network on its floor.

    Attributes:
        plant: NIC ports (hosts) and switches, with numbered ports, and the cables between them.
        nics: The NIC port that each host of the plant is, in the plant's order.
        places: Racks and cable lengths as laid.
        runs: Cables and transceivers of the bill.
    """

    scenario: Scenario
    network: Network
    fabric: Fabric
    plant: Plant
    nics: tuple[NicPort, ...]
    places: Places
    runs: tuple[CableGroup, ...]

    @property
    def num_computers(self) -> int:
        """Computers of all nodes."""
        return self.network.design.num_nodes * self.network.node.num_hosts

    @cached_property
    def computer_names(self) -> tuple[str, ...]:
        """The name of each computer: ``n0000`` ...; those of a rack follow one another."""
        digits = max(4, len(str(self.num_computers - 1)))
        return tuple(f"n{number:0{digits}}" for number in range(self.num_computers))

    @cached_property
    def ports_of(self) -> tuple[tuple[int, ...], ...]:
        """The NIC ports of each computer, by their places in the plant."""
        found: list[list[int]] = [[] for _ in range(self.num_computers)]
        for host, nic in enumerate(self.nics):
            found[nic.computer].append(host)
        return tuple(tuple(hosts) for hosts in found)

    @cached_property
    def hostnames(self) -> tuple[str, ...]:
        """The name of each device's box, in the plant's order; a NIC port has its computer's."""
        return tuple(self._hostname(number) for number in range(len(self.plant.devices)))

    def _hostname(self, number: int) -> str:
        if number < len(self.nics):
            return self.computer_names[self.nics[number].computer]
        kind, _, index = self.plant.devices[number].name.partition(":")
        return f"{kind}{int(index):0{max(3, len(str(len(self.plant.devices))))}}"

    def interface(self, host: int) -> str:
        """Return what the computer calls a NIC port: ``mlx5_3``; every port is a device."""
        nic = self.network.nic
        return f"{DEVICES.get(nic.vendor, 'nic')}{self.nics[host].index}"

    def cage(self, port: Port) -> Cage:
        """Return where a switch port is: ports slower than the fastest split its cages."""
        return self._cages[port]

    @cached_property
    def _cages(self) -> dict[Port, Cage]:
        """The cage of every cabled switch port; ports of another speed begin a cage of theirs."""
        switch = self.network.design.switch
        found = {}
        for number in range(len(self.nics), len(self.plant.devices)):
            cage = Cage(number=0, slot=0, num_slots=1)
            for cable in self.cables_of[number]:
                split = max(1, round(switch.modes[0].rate_bps / cable.rate_bps))
                cage = _next_cage(cage, split * switch.ports_per_cage)
                found[peer_of(cable, number)[0]] = cage
        return found

    def label(self, port: Port) -> str:
        """Return what is printed at a port: the device on a computer, the cage on a switch."""
        return self.interface(port.device) if self.is_host(port) else self.cage(port).label

    def level(self, device: int) -> str:
        """Return what a device is: ``node``, or the name of its tier."""
        if device < len(self.nics):
            return "node"
        return self.plant.devices[device].name.partition(":")[0]

    def seat(self, number: int) -> RackUnit:
        """Return where a device of the plant stands."""
        return self._seats[number]

    @cached_property
    def _seats(self) -> tuple[RackUnit, ...]:
        taken: dict[int, int] = {}
        seats: dict[str, RackUnit] = {}
        for number in range(len(self.plant.devices) - 1, -1, -1):  # switches first, at the top
            name = self.hostnames[number]
            if name not in seats:
                rack = int(self.places.rack[self._vertex(number)])
                seats[name] = RackUnit(rack=f"R{rack:03}", unit=self._unit(number, rack, taken))
        return tuple(seats[name] for name in self.hostnames)

    def _unit(self, number: int, rack: int, taken: dict[int, int]) -> int:
        if number < len(self.nics):
            per_node = self.network.node.num_hosts
            per_rack = nodes_per_rack(self.scenario.cluster.fabric.floor, self.network.node)
            height = TOP_UNIT // (per_rack * per_node + 1)
            return 1 + (self.nics[number].computer % (per_rack * per_node)) * max(1, height)
        taken[rack] = taken.get(rack, 0) + 1
        return max(1, TOP_UNIT - taken[rack] + 1)

    def _vertex(self, number: int) -> int:
        return int(self._vertices[number])

    @cached_property
    def _vertices(self) -> np.ndarray:
        kind = self.fabric.vertex_kind
        return np.flatnonzero((kind == VertexKind.NIC) | (kind == VertexKind.SWITCH))

    def length_m(self, cable: Cable) -> float:
        """Return the length of a cable as ordered: the next that is sold."""
        laid_m = float(self.places.cable_m[cable.number])
        return float(next((sold for sold in LENGTHS_M if sold >= laid_m), laid_m))

    def run(self, cable: Cable) -> CableGroup | None:
        """Return the cables of the bill that a cable is one of; None where none is like it."""
        ends = tuple(self.level(port.device) for port in cable.ends)
        racks = {int(self.places.rack[self._vertex(port.device)]) for port in cable.ends}
        alike = [
            run
            for run in self.runs
            if (run.stage.lower, run.stage.upper) == ends
            and run.in_rack == (len(racks) == 1)
            and run.length_m >= self.length_m(cable)
        ]
        return min(alike, key=lambda run: run.length_m, default=None)

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
    """Return the site of *scenario*: its network built, named, placed and measured.

    Raises:
        InfeasibleError: it cannot be built, or nothing in the catalogue joins its ports.
    """
    network = network_of(scenario.cluster, catalog)
    fabric = builder.build(network.design, network.node, network.scale_up)
    floor = scenario.cluster.fabric.floor
    per_rack = nodes_per_rack(floor, network.node)
    cabling = cable_up(
        network.design,
        lay_out(network.design, floor, per_rack=per_rack),
        network.node,
        cables=catalog.cables.values(),
        transceivers=catalog.transceivers.values(),
    )
    return Site(
        scenario=scenario,
        network=network,
        fabric=fabric,
        plant=plant_of(fabric),
        nics=_nics(fabric, network),
        places=place(fabric, floor, per_rack=per_rack),
        runs=cabling.runs,
    )


def _nics(fabric: Fabric, network: Network) -> tuple[NicPort, ...]:
    """NIC ports are numbered by node, NIC and plane; the computers of a node share them evenly."""
    per_computer, rest = divmod(network.design.num_ports, network.design.num_nodes)
    assert not rest, "nodes have equal numbers of ports"
    num_hosts = network.node.num_hosts
    per_computer, rest = divmod(per_computer, num_hosts)
    if rest:
        raise CatalogError(
            what=f"node {network.node.name}: {num_hosts} computers cannot share its NICs evenly",
            remedy="correct num_hosts or num_nics in your own parts",
        )
    nodes = fabric.vertex_node[fabric.vertex_kind == VertexKind.NIC].tolist()
    return tuple(
        NicPort(node=node, computer=number // per_computer, index=number % per_computer)
        for number, node in enumerate(nodes)
    )


def _next_cage(last: Cage, num_slots: int) -> Cage:
    """Return where the next port of a switch goes."""
    if last.number and last.num_slots == num_slots and last.slot + 1 < num_slots:
        return Cage(number=last.number, slot=last.slot + 1, num_slots=num_slots)
    return Cage(number=last.number + 1, slot=0, num_slots=num_slots)


def peer_of(cable: Cable, device: int) -> tuple[Port, Port]:
    """Return the port of *device* on a cable, and the one at its other end."""
    lower, upper = cable.ends
    return (lower, upper) if lower.device == device else (upper, lower)
