"""Rail-only: one separate Clos for each rail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from netloom.fabric.topologies.clos_spec import ClosSpec, clos_entry
from netloom.spec.topology import MAX_PLANES, Kind

if TYPE_CHECKING:
    from netloom.fabric.topologies.clos_size import ClosShape


__all__ = ["ENTRY", "RailOnly"]


class RailOnly(ClosSpec):
    """One separate Clos for each rail; traffic between rails goes over the scale-up network."""

    kind: Annotated[Literal["rail-only"], Kind] = "rail-only"
    planes: int = Field(
        default=1, ge=1, le=MAX_PLANES, description="Parallel networks each NIC is split over"
    )


def _shape(topology: RailOnly) -> ClosShape:
    return topology.shape(rails_apart=True, num_planes=topology.planes)


ENTRY = clos_entry(RailOnly, _shape, has_rails_apart=True)
