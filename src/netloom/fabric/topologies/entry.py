"""What a kind of topology is: everything the rest of netloom asks of it, in one entry.

A kind is one module that defines its parameters, its rules and ``ENTRY``; the module
:mod:`netloom.fabric.topologies.torus` is a complete example, docs/extending.md walks through one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from netloom.fabric.topologies.request import Request
from netloom.spec.topology import TOPOLOGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from netloom.fabric.design import Design
    from netloom.fabric.topologies.wiring import SwitchCables
    from netloom.spec.topology import TopologySpec

__all__ = ["Pairs", "SwitchSlots", "TopologyEntry", "no_pairs", "topology_entry", "wired_pairs"]

# Slots at both ends of some cables, and how many cables (or what share of them) each pair has.
Pairs: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SwitchSlots:
    """The racks that the switches of one tier stand in, in the order of the nodes they serve.

    Attributes:
        tier: Counted from 0, from the hosts up.
        num_switches: Of the tier; they fill the slots evenly, in the order of their numbers.
        group: The group of nodes that the switches in each slot serve.
        weight: Each slot's share of the cables that end on the tier.
    """

    tier: int
    num_switches: int
    group: NDArray[np.int64]
    weight: NDArray[np.float64]

    def of_switches(self) -> NDArray[np.int64]:
        """Return the slot of each switch of the tier."""
        num_slots = len(self.group)
        return np.arange(self.num_switches) * num_slots // self.num_switches


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyEntry:
    """One kind of topology; every trait must be given.

    Attributes:
        name: The kind, as scenarios and ``--topology`` write it.
        spec: Its parameters; the field ``kind`` is the literal *name*.
        size: The sizing rule: from a request and the parameters to a design; raises
            InfeasibleError where the switch will not do.
        wire: The builder: from the same to the cables, as many as the design counts.
        side_pairs: Which racks the cables between switches of one tier join; those between
            tiers follow from the design. :func:`wired_pairs` asks the builder,
            :func:`no_pairs` is for a kind that has none.
        is_tiered: Whether every path goes up and then down, which keeps it free of deadlocks
            without virtual lanes (OpenSM routes it with updn, others with nue).
        has_rails_apart: Whether each rail is a network of its own.
        doubts: What the analytic engine does not know of it, a sentence each; they are shown
            with every prediction of traffic between nodes.
    """

    name: str
    spec: type[TopologySpec]
    size: Callable[[Request, Any], Design]
    wire: Callable[[Request, Any], SwitchCables]
    side_pairs: Callable[[Design, SwitchSlots], Iterator[Pairs]]
    is_tiered: bool
    has_rails_apart: bool
    doubts: tuple[str, ...]

    def __post_init__(self) -> None:
        kind = self.spec.model_fields.get("kind")
        if kind is None or kind.default != self.name:
            message = f"{self.spec.__name__}: 'kind' must be the literal {self.name!r}, its default"
            raise TypeError(message)


def topology_entry(topology: TopologySpec) -> TopologyEntry:
    """Return the entry of the kind that *topology* is of.

    Raises:
        SpecError: the kind is not registered.
    """
    entry = TOPOLOGIES.get(topology.kind)
    assert isinstance(entry, TopologyEntry), entry
    return entry


def no_pairs(design: Design, slots: SwitchSlots) -> Iterator[Pairs]:
    """Yield nothing: no cable joins two switches of one tier."""
    del design, slots
    return iter(())


def wired_pairs(design: Design, slots: SwitchSlots) -> Iterator[Pairs]:
    """Yield the racks at both ends of each cable that the builder lays inside the tier."""
    request = Request.of_design(design)
    wiring = topology_entry(design.topology).wire(request, design.topology)
    first = sum(tier.num_switches for tier in design.tiers[: slots.tier])
    lower, upper = wiring.lower - first, wiring.upper - first
    inside = (np.minimum(lower, upper) >= 0) & (np.maximum(lower, upper) < slots.num_switches)
    slot = slots.of_switches()
    yield slot[lower[inside]], slot[upper[inside]], np.ones(int(inside.sum()))
