"""The topologies a scenario may ask for, one frozen model each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netloom.spec.quantity import RateBps
from netloom.spec.strict import Strict

__all__ = [
    "DragonflyPlus",
    "FatTree",
    "MultiPlane",
    "RailFatTree",
    "RailOnly",
    "ThreeTierTree",
    "Topology",
    "Torus",
]

Side = Annotated[int, Field(ge=1, le=65_536)]
Oversubscription = Annotated[float, Field(ge=1, le=64, allow_inf_nan=False)]


class _Clos(Strict):
    tiers: Literal[1, 2, 3, 4] | None = Field(
        default=None, description="Switch tiers; the fewest that fit when left out"
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


class FatTree(_Clos):
    """A folded Clos in which all NICs of a node share one leaf."""

    kind: Literal["fat-tree"] = "fat-tree"


class RailFatTree(_Clos):
    """A folded Clos in which the NICs of one rail, over many nodes, share a leaf."""

    kind: Literal["rail-fat-tree"] = "rail-fat-tree"


class RailOnly(_Clos):
    """One separate Clos for each rail; traffic between rails goes over the scale-up network."""

    kind: Literal["rail-only"] = "rail-only"
    planes: int = Field(
        default=1, ge=1, le=16, description="Parallel networks each NIC is split over"
    )


class MultiPlane(_Clos):
    """Every NIC port is split over several parallel planes, each a rail-optimised Clos."""

    kind: Literal["multi-plane"] = "multi-plane"
    planes: int = Field(
        default=2, ge=2, le=16, description="Parallel networks each NIC is split over"
    )


class ThreeTierTree(Strict):
    """The classic access, aggregation and core tree, oversubscribed at each step up."""

    kind: Literal["three-tier-tree"] = "three-tier-tree"
    access_oversubscription: Oversubscription = 3
    aggregation_oversubscription: Oversubscription = 2


class DragonflyPlus(Strict):
    """Groups of leaf and spine switches; spines hold the global links between groups."""

    kind: Literal["dragonfly-plus"] = "dragonfly-plus"
    groups: int | None = Field(default=None, ge=2, description="The fewest that fit when left out")


class Torus(Strict):
    """Nodes at the points of a grid that wraps around in each dimension."""

    kind: Literal["torus"] = "torus"
    dimensions: Annotated[tuple[Side, ...], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="Switches along each dimension; the most even 3-D box when left out",
    )


Topology = Annotated[
    FatTree | RailFatTree | RailOnly | MultiPlane | ThreeTierTree | DragonflyPlus | Torus,
    Field(discriminator="kind"),
]
