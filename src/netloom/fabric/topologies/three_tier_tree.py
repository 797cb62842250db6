"""The classic tree of access, aggregation and core switches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netloom.fabric.topologies.clos_size import ClosShape
from netloom.fabric.topologies.clos_spec import clos_entry
from netloom.spec.topology import Kind, Oversubscription, TopologySpec

__all__ = ["ENTRY", "ThreeTierTree"]


class ThreeTierTree(TopologySpec):
    """The classic access, aggregation and core tree, oversubscribed at each step up."""

    kind: Annotated[Literal["three-tier-tree"], Kind] = "three-tier-tree"
    access_oversubscription: Oversubscription = Field(
        default=3, description="Host bandwidth over uplink bandwidth at an access switch"
    )
    aggregation_oversubscription: Oversubscription = Field(
        default=2, description="Downlink bandwidth over uplink bandwidth at an aggregation switch"
    )


def _shape(topology: ThreeTierTree) -> ClosShape:
    return ClosShape(
        tiers=3,
        oversubscription=topology.access_oversubscription,
        spine_oversubscription=topology.aggregation_oversubscription,
        has_fixed_tiers=True,
        tier_names=("access", "aggregation", "core"),
    )


ENTRY = clos_entry(ThreeTierTree, _shape)
