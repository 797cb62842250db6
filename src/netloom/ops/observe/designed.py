"""A network as designed: its plant, and the rack that each device stands in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.build import build
from netloom.fabric.cost.layout import nodes_per_rack
from netloom.fabric.cost.places import place
from netloom.fabric.names import vertex_name
from netloom.ops.plant import plant_of
from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.ops.plant import Plant, Port
    from netloom.spec.scenario import Floor

__all__ = ["Designed", "designed_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Designed:
    """What should be there.

    Attributes:
        network: Its technology tells how it can be looked at.
        fabric: The same as arrays.
        floor: What it stands on.
    """

    network: Network
    fabric: Fabric
    floor: Floor

    @cached_property
    def plant(self) -> Plant:
        """Devices, ports and cables."""
        return plant_of(self.fabric)

    @cached_property
    def racks(self) -> dict[str, str]:
        """Where each device stands, by its name: ``R012``."""
        per_rack = nodes_per_rack(self.floor, self.network.node)
        rack = place(self.fabric, self.floor, per_rack=per_rack).rack
        names = {device.name for device in self.plant.devices}
        return {
            name: f"R{rack[vertex]:03}"
            for vertex in np.flatnonzero(rack >= 0).tolist()
            if (name := vertex_name(self.fabric, vertex)) in names
        }

    @property
    def is_infiniband(self) -> bool:
        """Whether it is InfiniBand; else it is Ethernet of some kind."""
        return bool(self.network.technology.protocol == "infiniband")

    def label(self, port: Port) -> str:
        """Return what is printed beside a port: ``port 7``, ``swp7``, ``eth0``."""
        return f"port {port.number}" if self.is_infiniband else interface_name(self.plant, port)


def designed_of(network: Network, floor: Floor) -> Designed:
    """Return *network* as designed, on its *floor*."""
    fabric = build(network.design, network.node, network.scale_up)
    return Designed(network=network, fabric=fabric, floor=floor)
