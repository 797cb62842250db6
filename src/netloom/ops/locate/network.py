"""A network as designed, looked up by the names that witnesses give its parts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import vertex_name
from netloom.fabric.part_id import CABLE, Direction, PartId
from netloom.ops.locate.findings import Finding
from netloom.ops.underlay import expected_uses, underlay_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.faults import FaultKind, Trouble
    from netloom.ops.plant import Cable, Plant
    from netloom.ops.underlay import Underlay

__all__ = ["DesignedNetwork", "looks"]


@dataclass(frozen=True, kw_only=True)
class DesignedNetwork:
    """A network as designed, looked up as witnesses name it.

    Attributes:
        fabric: As arrays.
        plant: As devices, ports and cables.
        rate_bps: What each cable should run at.
    """

    fabric: Fabric
    plant: Plant
    rate_bps: Callable[[Cable], float]

    @cached_property
    def ends(self) -> dict[int, tuple[str, str]]:
        """The ports of each cable by its number, the lower first."""
        name = self.plant.port_name
        return {c.number: (name(c.lower), name(c.upper)) for c in self.plant.cables}

    @cached_property
    def at(self) -> dict[str, Cable]:
        """The cable in each port."""
        return {end: c for c in self.plant.cables for end in self.ends[c.number]}

    @cached_property
    def cables(self) -> dict[int, Cable]:
        """By number."""
        return {cable.number: cable for cable in self.plant.cables}

    @cached_property
    def by_device(self) -> dict[str, list[Cable]]:
        """The cables of each device, by its name."""
        found: dict[str, list[Cable]] = defaultdict(list)
        for cable in self.plant.cables:
            for port in cable.ends:
                found[self.plant.devices[port.device].name].append(cable)
        return found

    @cached_property
    def gpus(self) -> dict[str, tuple[int, ...]]:
        """The GPUs behind each NIC port and each switch that NIC ports hang on, by its name."""
        fabric, kind = self.fabric, self.fabric.vertex_kind
        source, target = fabric.link_source, fabric.link_target
        own = np.flatnonzero((kind[source] == VertexKind.GPU) & (kind[target] == VertexKind.NIC))
        behind: dict[int, set[int]] = defaultdict(set)
        for link in own.tolist():
            behind[int(target[link])].add(int(source[link]))
        up = np.flatnonzero((kind[source] == VertexKind.NIC) & (kind[target] == VertexKind.SWITCH))
        for link in up.tolist():
            behind[int(target[link])] |= behind[int(source[link])]
        return {vertex_name(fabric, v): tuple(sorted(some)) for v, some in behind.items()}

    def nics_of(self, node: int) -> tuple[str, ...]:
        """Return the names of a node's NIC ports; none where there is no such node."""
        fabric = self.fabric
        is_own = (fabric.vertex_kind == VertexKind.NIC) & (fabric.vertex_node == node)
        return tuple(vertex_name(fabric, v) for v in np.flatnonzero(is_own).tolist())

    @cached_property
    def underlay(self) -> Underlay:
        """Addresses and routers of a routed network of this design.

        Raises:
            InfeasibleError: it has more switches or hosts than the address plan.
        """
        return underlay_of(self.plant)

    def uses(self, gone: frozenset[int]) -> dict[str, dict[str, int]]:
        """Return how many hosts each switch should reach over each interface without *gone*."""
        if gone not in self._uses:
            self._uses.clear()  # what is gone changes seldom, and old answers have no use
            self._uses[gone] = expected_uses(self.plant, self.underlay, gone)
        return self._uses[gone]

    @cached_property
    def _uses(self) -> dict[frozenset[int], dict[str, dict[str, int]]]:
        return {}

    def far_end(self, cable: Cable, device: str) -> str:
        """Return the port of a cable that is not the one at *device*."""
        lower, upper = self.ends[cable.number]
        return upper if self.devices_of(cable)[0] == device else lower

    def devices_of(self, cable: Cable) -> tuple[str, str]:
        """Return the names of the devices that a cable joins, the lower first."""
        lower, upper = (self.plant.devices[port.device].name for port in cable.ends)
        return lower, upper

    def part(self, cable: Cable, direction: Direction = Direction.BOTH) -> PartId:
        """Return a cable, or one direction of it, as findings have it."""
        return self.plant.part(cable, direction)

    def part_called(self, name: str) -> PartId | None:
        """Return the device or the subnet that a witness calls *name*; None when there is none."""
        if name in self.by_device:
            return PartId.parse(name)
        return PartId.subnet_called(name)

    def finding(
        self,
        part: PartId,
        kind: Trouble | FaultKind,
        text: str,
        *,
        confidence: float,
        magnitude: float = 1.0,
        gain: float = 0.0,
    ) -> Finding:
        """Return a finding on a part; it hurts the GPUs right behind it."""
        return Finding(
            part=part,
            kind=kind.value,
            magnitude=magnitude,
            confidence=confidence,
            evidence=(text,),
            hurts=self.behind(part),
            predicted_gain=gain,
        )

    def behind(self, part: PartId) -> tuple[int, ...]:
        """Return the GPUs that only *part* joins: all behind a device or a NIC's cable."""
        if part.kind != CABLE:
            return self.gpus.get(str(part), ())
        lower, _ = self.devices_of(self.cables[part.index])
        is_alone = part.direction is Direction.BOTH and len(self.by_device[lower]) == 1
        return self.gpus.get(lower, ()) if is_alone else ()

    def cut_off(self, down: Collection[int]) -> dict[int, tuple[int, ...]]:
        """Return the GPUs that cables which are *down* cut off together, by cable.

        Each is redundant as a rule; with all of a leaf's uplinks down, none reaches its GPUs. Of
        two pieces that nothing joins any more the one with fewer GPUs is cut off.
        """
        pieces = self._pieces(frozenset(down))
        gpus: dict[int, set[int]] = defaultdict(set)
        for number, device in enumerate(self.plant.devices):
            if device.role == "host":
                gpus[pieces[number]].update(self.gpus.get(device.name, ()))
        found = {}
        for number in down:
            one, other = (pieces[port.device] for port in self.cables[number].ends)
            if one != other:
                fewer = one if len(gpus[one]) <= len(gpus[other]) else other
                found[number] = tuple(sorted(gpus[fewer]))
        return found

    def _pieces(self, down: frozenset[int]) -> list[int]:
        """Return for each device one that stands for all that cables join it with."""
        joined = list(range(len(self.plant.devices)))

        def root(one: int) -> int:
            while joined[one] != one:
                joined[one] = joined[joined[one]]
                one = joined[one]
            return one

        for cable in self.plant.cables:
            if cable.number not in down:
                lower, upper = (root(port.device) for port in cable.ends)
                joined[upper] = lower
        return [root(one) for one in range(len(joined))]


def looks(count: int) -> str:
    """Return how often something was said, in words."""
    return f"{count} look{'s' if count != 1 else ''} in a row"
