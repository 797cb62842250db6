"""Faults to try locating on, drawn from the grid that field studies suggest.

Loss of 1e-5 to 1e-2 on a cable, 1e-3 in one direction, of large packets only; black holes; a slow
cable, a NIC at half its rate; 20 to 100 us of delay; a switch that loses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.ops.locate.faults import FaultHypothesis, FaultKind, Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["DRAWS", "draw_fault", "same_part"]

DRAWS: Final = ("loss", "one-way", "large", "black hole", "slow", "NIC", "delay", "switch")


def draw_fault(fabric: Fabric, rng: np.random.Generator, draw: str = "") -> FaultHypothesis:
    """Return a fault of the kind *draw*, or of any."""
    draw = draw or str(rng.choice(DRAWS))
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    if draw == "switch":
        vertex = int(rng.choice(np.flatnonzero(is_switch)))
        return _fault(Scope.SWITCH, vertex, FaultKind.LOSS, 10 ** rng.uniform(-4, -2))
    link = int(rng.choice(_links(fabric, is_switch, of_nics=draw == "NIC")))
    cable = link // 2
    faults = {
        "loss": lambda: _fault(Scope.CABLE, cable, FaultKind.LOSS, 10 ** rng.uniform(-5, -2)),
        "one-way": lambda: _fault(Scope.LINK, link, FaultKind.LOSS, 1e-3),
        "large": lambda: _fault(
            Scope.CABLE, cable, FaultKind.LARGE_LOSS, 10 ** rng.uniform(-4, -2)
        ),
        "black hole": lambda: _fault(
            Scope.LINK, link, FaultKind.BLACK_HOLE, rng.uniform(0.25, 0.6)
        ),
        "slow": lambda: _fault(Scope.CABLE, cable, FaultKind.SLOW, rng.choice([2.0, 4.0])),
        "NIC": lambda: _fault(Scope.CABLE, cable, FaultKind.SLOW, 2.0),
        "delay": lambda: _fault(Scope.CABLE, cable, FaultKind.DELAY, rng.uniform(20e-6, 100e-6)),
    }
    return faults[draw]()


def _fault(scope: Scope, index: int, kind: FaultKind, magnitude: float) -> FaultHypothesis:
    return FaultHypothesis(scope=scope, index=index, kind=kind, magnitude=float(magnitude))


def _links(fabric: Fabric, is_switch: NDArray[np.bool_], *, of_nics: bool) -> NDArray[np.int64]:
    source, target = is_switch[fabric.link_source], is_switch[fabric.link_target]
    if not of_nics:
        return np.flatnonzero(source | target)
    return np.flatnonzero((fabric.vertex_kind[fabric.link_source] == VertexKind.NIC) & target)


def same_part(one: FaultHypothesis, other: FaultHypothesis) -> bool:
    """Return whether a repair of the one mends the other: the same cable, or the same switch."""
    return _part(one) == _part(other)


def _part(fault: FaultHypothesis) -> tuple[bool, int]:
    is_switch = fault.scope is Scope.SWITCH
    return is_switch, fault.index // 2 if fault.scope is Scope.LINK else fault.index
