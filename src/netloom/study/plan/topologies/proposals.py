"""Topologies worth trying for a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from netloom.spec.topology import TOPOLOGIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.spec.topology import TopologySpec

__all__ = ["FAT_TREE_TAPERS", "ProposedTopology", "TopologyFamily", "fat_tree", "proposals"]

TopologyFamily = Literal["fat-tree", "rail", "rail-only", "multi-plane", "tapered", "hybrid"]
# Oversubscriptions that a fat tree of equal cost is looked for among.
FAT_TREE_TAPERS: Final = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedTopology:
    """One way to wire the switches.

    Attributes:
        family: What it is, in a word; ``hybrid`` combines two.
    """

    name: str
    family: TopologyFamily
    topology: TopologySpec


def fat_tree(oversubscription: float) -> ProposedTopology:
    """Return a fat tree with that much less bandwidth above its leaves."""
    return _proposed(
        "fat-tree",
        f"fat-tree {oversubscription:g}:1",
        "fat-tree",
        oversubscription=oversubscription,
    )


def proposals() -> Iterator[ProposedTopology]:
    """Yield what is tried, non-blocking ones first.

    Tapers at the leaves keep rails together; tapers at the spines keep whole pods non-blocking, as
    Meta's 24K cluster does with 1:7 (secondary). Hybrids combine rails apart, planes and tapers.
    """
    yield fat_tree(1.0)
    yield _proposed("rail", "rail-fat-tree", "rail-fat-tree")
    yield _proposed("rail-only", "rail-only", "rail-only")
    for planes in (2, 4):
        yield _proposed("multi-plane", f"{planes} planes", "multi-plane", planes=planes)
    for over in (2.0, 3.0):
        name = f"rail-fat-tree {over:g}:1 at leaves"
        yield _proposed("tapered", name, "rail-fat-tree", oversubscription=over)
    for over in (2.0, 4.0, 7.0):
        name = f"rail-fat-tree {over:g}:1 at spines"
        yield _proposed("tapered", name, "rail-fat-tree", spine_oversubscription=over)
    yield _proposed("hybrid", "rail-only in 2 planes", "rail-only", planes=2)
    yield _proposed("hybrid", "rail-only 2:1 at leaves", "rail-only", oversubscription=2.0)
    yield _proposed(
        "hybrid", "2 planes, 2:1 at leaves", "multi-plane", planes=2, oversubscription=2.0
    )


def _proposed(family: TopologyFamily, name: str, kind: str, **parameters: Any) -> ProposedTopology:
    spec = TOPOLOGIES.get(kind).spec
    return ProposedTopology(name=name, family=family, topology=spec.model_validate(parameters))
