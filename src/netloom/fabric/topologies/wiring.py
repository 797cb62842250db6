"""What a builder hands back: the scale-out network alone, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.topologies.request import Request

__all__ = ["SwitchCables", "shared_leaves"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SwitchCables:
    """Switches, numbered from 0 tier by tier, and the cables at them.

    NIC ports are numbered by node, then NIC, then plane.

    Attributes:
        port_switch: Switch that each NIC port is plugged into.
        switch_tier: Counted from 1.
        switch_plane: Plane of each switch.
        switch_rail: Rail of each switch; -1 for one that joins several.
        lower: Lower switch of each cable between switches.
        upper: Upper switch of it.
        rate_bps: Of every such cable, one direction.
    """

    port_switch: NDArray[np.int32]
    switch_tier: NDArray[np.int8]
    switch_plane: NDArray[np.int16]
    switch_rail: NDArray[np.int16]
    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    rate_bps: float


def shared_leaves(request: Request, ports_per_leaf: int) -> NDArray[np.int32]:
    """Return the leaf of each NIC when leaves are filled node after node."""
    num_ports = request.num_nodes * request.num_nics
    return np.arange(num_ports, dtype=np.int32) // np.int32(ports_per_leaf)
