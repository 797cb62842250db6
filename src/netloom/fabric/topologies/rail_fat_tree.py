"""Rail-optimised fat tree: the NICs of one rail, over many nodes, share a leaf."""

from __future__ import annotations

from typing import Annotated, Literal

from netloom.fabric.topologies.clos_spec import ClosSpec, clos_entry
from netloom.spec.topology import Kind

__all__ = ["ENTRY", "RailFatTree"]


class RailFatTree(ClosSpec):
    """A folded Clos in which the NICs of one rail, over many nodes, share a leaf."""

    kind: Annotated[Literal["rail-fat-tree"], Kind] = "rail-fat-tree"


ENTRY = clos_entry(RailFatTree, lambda topology: topology.shape(by_rail=True))
