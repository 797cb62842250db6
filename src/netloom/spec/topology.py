"""The topologies a scenario may ask for, one frozen model each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netloom.spec.quantity import RateBps
from netloom.spec.strict import Strict

__all__ = [
    "MAX_OVERSUBSCRIPTION",
    "MAX_PLANES",
    "DragonflyPlus",
    "FatTree",
    "MultiPlane",
    "RailFatTree",
    "RailOnly",
    "ThreeTierTree",
    "Topology",
    "Torus",
]

MAX_OVERSUBSCRIPTION = 64
MAX_PLANES = 16

Side = Annotated[int, Field(ge=1, le=65_536)]
Oversubscription = Annotated[float, Field(ge=1, le=MAX_OVERSUBSCRIPTION)]
Kind = Field(description="Which topology")


class _Clos(Strict):
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


class FatTree(_Clos):
    """A folded Clos in which all NICs of a node share one leaf."""

    kind: Annotated[Literal["fat-tree"], Kind] = "fat-tree"


class RailFatTree(_Clos):
    """A folded Clos in which the NICs of one rail, over many nodes, share a leaf."""

    kind: Annotated[Literal["rail-fat-tree"], Kind] = "rail-fat-tree"


class RailOnly(_Clos):
    """One separate Clos for each rail; traffic between rails goes over the scale-up network."""

    kind: Annotated[Literal["rail-only"], Kind] = "rail-only"
    planes: int = Field(
        default=1, ge=1, le=MAX_PLANES, description="Parallel networks each NIC is split over"
    )


class MultiPlane(_Clos):
    """Every NIC port is split over several parallel planes, each a rail-optimised Clos."""

    kind: Annotated[Literal["multi-plane"], Kind] = "multi-plane"
    planes: int = Field(
        default=2, ge=2, le=MAX_PLANES, description="Parallel networks each NIC is split over"
    )


class ThreeTierTree(Strict):
    """The classic access, aggregation and core tree, oversubscribed at each step up."""

    kind: Annotated[Literal["three-tier-tree"], Kind] = "three-tier-tree"
    access_oversubscription: Oversubscription = Field(
        default=3, description="Host bandwidth over uplink bandwidth at an access switch"
    )
    aggregation_oversubscription: Oversubscription = Field(
        default=2, description="Downlink bandwidth over uplink bandwidth at an aggregation switch"
    )


class DragonflyPlus(Strict):
    """Groups of leaf and spine switches; spines hold the global links between groups."""

    kind: Annotated[Literal["dragonfly-plus"], Kind] = "dragonfly-plus"
    groups: Annotated[int, Field(ge=2, le=65_536)] | None = Field(
        default=None, description="Groups of switches; the fewest that fit when left out"
    )


class Torus(Strict):
    """Nodes at the points of a grid that wraps around in each dimension."""

    kind: Annotated[Literal["torus"], Kind] = "torus"
    dimensions: Annotated[tuple[Side, ...], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="Switches along each dimension; the most even 3-D box when left out",
    )


Topology = Annotated[
    FatTree | RailFatTree | RailOnly | MultiPlane | ThreeTierTree | DragonflyPlus | Torus,
    Field(discriminator="kind"),
]
