"""Multi-plane: every NIC port is split over several parallel networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from netloom.fabric.topologies.clos_spec import ClosSpec, clos_entry
from netloom.spec.topology import MAX_PLANES, Kind

if TYPE_CHECKING:
    from netloom.fabric.topologies.clos_size import ClosShape


__all__ = ["ENTRY", "MultiPlane"]

_MIN_PLANES = 2


class MultiPlane(ClosSpec):
    """Every NIC port is split over several parallel planes, each a rail-optimised Clos."""

    kind: Annotated[Literal["multi-plane"], Kind] = "multi-plane"
    planes: int = Field(
        default=2,
        ge=_MIN_PLANES,
        le=MAX_PLANES,
        description="Parallel networks each NIC is split over",
    )


def _shape(topology: MultiPlane) -> ClosShape:
    return topology.shape(by_rail=True, num_planes=topology.planes, min_planes=_MIN_PLANES)


ENTRY = clos_entry(MultiPlane, _shape)
