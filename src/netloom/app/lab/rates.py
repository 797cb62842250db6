"""What the cables of a lab run at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lab.roce import lab_rate_bps
from netloom.formats.infiniband import ibsim_topology

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.plant import Cable, Plant

__all__ = ["lab_rates"]


def lab_rates(plant: Plant, *, is_infiniband: bool) -> Callable[[Cable], float]:
    """Return what each cable runs at in a lab: all scaled alike, as ibsim and shapers can."""
    if not is_infiniband:
        return lambda cable: lab_rate_bps(plant, cable)
    names = ibsim_topology.speed_names(cable.rate_bps for cable in plant.cables)
    return lambda cable: ibsim_topology.SPEEDS_BPS[names[cable.rate_bps]]
