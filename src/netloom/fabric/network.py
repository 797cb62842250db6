"""A network with everything that decides how fast it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.fabric.design import Design
    from netloom.parts.parts import Gpu, Nic, Node, ScaleUp, Technology

__all__ = ["Network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Nodes, the scale-up network in them, and the scale-out network between them.

    Attributes:
        loss: Packets lost on a link, from the scenario or else the technology.
        in_network_reduction: Whether the switches add up (SHARP): the technology can, and the
            scenario asks for it. NCCL leaves it off unless told.
        net: The library's plugin where the scenario names one; empty for the technology's own.
        gpudirect: Whether NICs read and write GPU memory.
    """

    technology: Technology
    design: Design
    node: Node
    gpu: Gpu
    nic: Nic
    scale_up: ScaleUp
    loss: float
    in_network_reduction: bool = False
    net: str = ""
    gpudirect: bool = True

    @property
    def nic_rate_bps(self) -> float:
        """What one NIC puts on the wire: its own rate or the technology's, the lower."""
        return min(self.nic.rate_bps, self.technology.rate_bps)
