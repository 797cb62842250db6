"""Collectives and the groups of ranks that take part in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Axis", "Collective", "CollectiveKind", "Group"]


class CollectiveKind(StrEnum):
    """What the ranks of a group do together."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    ALL_TO_ALL = "all_to_all"
    SEND_RECV = "send_recv"


class Axis(StrEnum):
    """Which way of dividing the work a communication serves."""

    TENSOR = "tensor"
    CONTEXT = "context"
    EXPERT = "expert"
    DATA = "data"
    PIPELINE = "pipeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The ranks that take part, described by where they sit.

    Attributes:
        size: Ranks in the group.
        per_node: Of these, ranks in one node.
        node_stride: Nodes from one member node to the next, in placement order.
        active_per_node: Ranks of a node that communicate at the same time, in this group and
            its siblings; they share the node's NICs.
        displaced: Share of the member nodes that stand elsewhere than packing would put them.
        span_nodes: Nodes from the first member node to the last, both counted; for a pair, of the
            larger group whose neighbours it stands for. Size times stride when left out.
    """

    size: int
    per_node: int
    node_stride: int = 1
    active_per_node: int = 0
    displaced: float = 0.0
    span_nodes: int = 0

    def __post_init__(self) -> None:
        assert 1 <= self.per_node <= self.size, self
        if self.active_per_node == 0:
            object.__setattr__(self, "active_per_node", self.per_node)
        if self.span_nodes == 0:
            object.__setattr__(self, "span_nodes", self.num_nodes * self.node_stride)

    @property
    def num_nodes(self) -> int:
        """Nodes the group touches."""
        return -(-self.size // self.per_node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """One collective of one group.

    Attributes:
        kind: Which.
        size_bytes: As nccl-tests counts: the vector that is reduced, the gathered or scattered
            total, the broadcast buffer, what one rank sends in all, or the message. The root of a
            broadcast, reduce, gather or scatter is the first rank.
        group: Who takes part.
        skew: For an all-to-all, the busiest rank's bytes over the mean (1 is even).
    """

    kind: CollectiveKind
    size_bytes: float
    group: Group
    skew: float = 1.0
