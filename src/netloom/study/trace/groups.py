"""Which ranks form which group, by name, for traces that name groups.

Names are whole numbers from 1, as ASTRA-sim wants them; ranks are numbered as
:mod:`netloom.workload.placement` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.workload.collective import Axis
from netloom.workload.sharding import SUMMED_OVER_COPIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.workload.communication import Communication
    from netloom.workload.placement import Layout

__all__ = ["RankGroups", "all_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """Groups of *size* ranks, *stride* apart, that together hold every rank once."""

    first: int
    size: int
    stride: int

    def number(self, rank: int) -> int:
        """Return which group *rank* is in."""
        block, inside = divmod(rank, self.size * self.stride)
        return self.first + block * self.stride + inside % self.stride

    def members(self, number: int) -> tuple[int, ...]:
        """Return the ranks of a group."""
        block, offset = divmod(number - self.first, self.stride)
        start = block * self.size * self.stride + offset
        return tuple(range(start, start + self.size * self.stride, self.stride))


def _families(plan: Layout) -> Iterator[_Family]:
    """Yield groups of ranks: tensor, expert, data, copies of experts, sets that share weights."""
    first = 1
    for size, stride in (
        (plan.tensor, 1),
        (plan.expert, plan.expert_split),
        (plan.replicas, plan.tensor),
        (plan.expert_data, plan.expert_ranks),
        (plan.zero_ranks or plan.zero_backward_ranks or 1, plan.tensor),
        (plan.replicas // (plan.zero_ranks or plan.replicas), plan.tensor * plan.sharers),
        (plan.expert_split, 1),
        (plan.expert_ranks, 1),
    ):
        yield _Family(first=first, size=size, stride=stride)
        first += plan.num_gpus // size


def all_groups(plan: Layout) -> dict[str, tuple[int, ...]]:
    """Return the ranks of every group of two or more, by name."""
    return {
        str(number): family.members(number)
        for family in _families(plan)
        if family.size > 1
        for number in range(family.first, family.first + plan.num_gpus // family.size)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankGroups:
    """The groups and neighbours of one rank.

    Attributes:
        num_hop_tags: Tags below this are for transfers between pipeline stages.
    """

    plan: Layout
    rank: int
    num_hop_tags: int

    @property
    def stage(self) -> int:
        """Its pipeline stage."""
        return self.rank // self.plan.stage_gpus

    @property
    def ring(self) -> tuple[int, int, int]:
        """The rank itself, and those before and after it in its context ring."""
        stride, size = self.plan.tensor, self.plan.context
        place = self.rank // stride % size
        start = self.rank - place * stride
        before, after = ((place + way) % size * stride for way in (-1, 1))
        return self.rank, start + before, start + after

    def rank_on(self, place: int) -> int:
        """Return its counterpart on virtual stage *place*."""
        stage = place % self.plan.pipeline
        return self.rank + (stage - self.stage) * self.plan.stage_gpus

    def name(self, item: Communication) -> str:
        """Return the name of the group in which this rank does *item*."""
        tensor, expert, data, expert_data, shared, copies, divided, experts = _families(self.plan)
        if item.axis is Axis.DATA and SUMMED_OVER_COPIES in item.purpose:
            return str(copies.number(self.rank))
        # Where several have as many ranks, they have the same ranks.
        families = {
            Axis.TENSOR: (tensor, divided),
            Axis.EXPERT: (expert, experts),
            Axis.DATA: (data, shared, expert_data),
        }[item.axis]
        size = item.collective.group.size
        family = next(one for one in families if one.size == size)
        return str(family.number(self.rank))
