"""The parameters that all kinds of folded Clos share, and the entry made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from netloom.fabric.topologies.clos_size import ClosShape, size_clos
from netloom.fabric.topologies.clos_wire import wire_clos
from netloom.fabric.topologies.entry import TopologyEntry, no_pairs
from netloom.spec.quantity import RateBps
from netloom.spec.topology import Oversubscription, TopologySpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.design import Design
    from netloom.fabric.topologies.request import Request
    from netloom.fabric.topologies.wiring import SwitchCables

__all__ = ["ClosSpec", "clos_entry"]


Spec = TypeVar("Spec", bound=TopologySpec)


class ClosSpec(TopologySpec):
    """What can be asked of a folded Clos of leaves, spines and cores."""

    tiers: Annotated[int, Field(ge=1, le=4)] | None = Field(
        default=None, description="Switch tiers, 1 to 4; the fewest that fit when left out"
    )
    oversubscription: Oversubscription = Field(
        default=1, description="Host bandwidth over uplink bandwidth at a leaf; 1 is non-blocking"
    )
    spine_oversubscription: Oversubscription = Field(
        default=1, description="The same at every switch above the leaves but the topmost"
    )
    uplink_rate_bps: Annotated[RateBps, Field(gt=0, le=1e15)] | None = Field(
        default=None, description="Of a cable between switches; that of a host port when left out"
    )
    hosts_per_leaf: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        default=None,
        description="Host ports of a leaf in use; all the oversubscription allows when left out",
    )

    def shape(
        self,
        *,
        by_rail: bool = False,
        rails_apart: bool = False,
        num_planes: int = 1,
        min_planes: int = 1,
    ) -> ClosShape:
        """Return the network to plan: these parameters, and how its kind meets the NICs."""
        return ClosShape(
            tiers=self.tiers,
            oversubscription=self.oversubscription,
            spine_oversubscription=self.spine_oversubscription,
            uplink_rate_bps=self.uplink_rate_bps,
            hosts_per_leaf=self.hosts_per_leaf,
            by_rail=by_rail,
            rails_apart=rails_apart,
            num_planes=num_planes,
            min_planes=min_planes,
        )


def clos_entry(
    spec: type[Spec], shape: Callable[[Spec], ClosShape], *, has_rails_apart: bool = False
) -> TopologyEntry:
    """Return the entry of a folded Clos: *shape* turns its parameters into a plan."""

    def size(request: Request, topology: Spec) -> Design:
        return size_clos(request, shape(topology))

    def wire(request: Request, topology: Spec) -> SwitchCables:
        return wire_clos(request, shape(topology))

    return TopologyEntry(
        name=spec.model_fields["kind"].default,
        spec=spec,
        size=size,
        wire=wire,
        side_pairs=no_pairs,
        is_tiered=True,
        has_rails_apart=has_rails_apart,
        doubts=(),
    )
