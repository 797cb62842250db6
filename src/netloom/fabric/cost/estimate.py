"""From a design to its cost in one step: lay out, cable up, draw up the bill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.fabric.cost.bill import Bill, draw_up
from netloom.fabric.cost.cabling import Cabling, cable_up
from netloom.fabric.cost.layout import FloorLayout, lay_out, nodes_per_rack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.fabric.design import Design
    from netloom.parts.parts import CableType, Nic, Node, Transceiver
    from netloom.spec.scenario import Floor

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a design takes: room, cables, money and power."""

    layout: FloorLayout
    cabling: Cabling
    bill: Bill

    @property
    def longest_m(self) -> float:
        """The longest cable as laid, before it is ordered in the next length sold."""
        return max(route.longest_m for route in self.layout.routes)


def estimate(
    design: Design,
    *,
    node: Node,
    nic: Nic,
    floor: Floor,
    cables: Iterable[CableType],
    transceivers: Iterable[Transceiver],
) -> Estimate:
    """Return what *design* takes on *floor*, with the given cables and transceivers to be had.

    Raises:
        CatalogError: the switch has no price or no power.
        InfeasibleError: no cable reaches.
    """
    layout = lay_out(design, floor, per_rack=nodes_per_rack(floor, node))
    cabling = cable_up(design, layout, node, cables=cables, transceivers=transceivers)
    num_nics = design.num_nodes * node.num_nics
    return Estimate(
        layout=layout,
        cabling=cabling,
        bill=draw_up(design, cabling, nic=nic, num_nics=num_nics),
    )
