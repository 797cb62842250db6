"""Fat tree: a folded Clos in which all NICs of a node share one leaf."""

from __future__ import annotations

from typing import Annotated, Literal

from netloom.fabric.topologies.clos_spec import ClosSpec, clos_entry
from netloom.spec.topology import Kind

__all__ = ["ENTRY", "FatTree"]


class FatTree(ClosSpec):
    """A folded Clos in which all NICs of a node share one leaf."""

    kind: Annotated[Literal["fat-tree"], Kind] = "fat-tree"


ENTRY = clos_entry(FatTree, FatTree.shape)
