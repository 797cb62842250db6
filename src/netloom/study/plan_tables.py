"""The ingredients that configurations share, each asked for once.

Every number here comes from the very function that predicts a single step; the search only
remembers it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from netloom.step.memory import fullest_stages, kept_bytes, states
from netloom.step.practice import MEGATRON_CORE
from netloom.step.predict import gpu_validity, job_validity, optimizer_bytes
from netloom.step.residual import residual_of
from netloom.step.stages import clock_of, end_costs, layer_costs, layer_kinds
from netloom.workload.demand import micro_batch_communications, shard_of
from netloom.workload.sharding import data_communications
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.compute.roofline import Costs
    from netloom.engines.base import Engine
    from netloom.spec.scenario import Recompute, Training
    from netloom.step.practice import Practice
    from netloom.step.stages import Clock
    from netloom.study.plan_space import Divided, Space
    from netloom.workload.collective import Collective
    from netloom.workload.communication import Communication
    from netloom.workload.flops import Shard
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["Asked", "States", "Tables"]


class Slot(NamedTuple):
    """What communications of different configurations have in common."""

    axis: str
    purpose: str
    per: str
    window: str


class Asked(NamedTuple):
    """Communications of one configuration.

    Attributes:
        slots: Equal for configurations that are computed together.
        items: The communications themselves, of which slots, phase and window are used.
        numbers: For each, how long it takes, how often for one of its kind, and whether it needs
            NICs.
        inside: Whether none of their durations is in doubt.
    """

    slots: tuple[Slot, ...]
    items: tuple[Communication, ...]
    numbers: tuple[tuple[float, int, bool], ...]
    inside: bool


class States(NamedTuple):
    """What does not depend on the micro-batch.

    Attributes:
        held_bytes: Weights, gradients and optimizer state, by stage of those asked for.
        optimizer_s: The weight update.
        inside: Whether the job itself raises no doubt.
    """

    held_bytes: tuple[float, ...]
    optimizer_s: float
    inside: bool


@dataclass(frozen=True, slots=True)
class _Memo:
    """What does not depend on the network: it is the same on every machine of these GPUs."""

    costs: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)
    layers: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)
    ends: dict[Shard, tuple[float, ...]] = field(default_factory=dict)
    kept: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)
    states: dict[tuple[object, ...], States] = field(default_factory=dict)
    items: dict[tuple[object, ...], tuple[tuple[Slot, ...], tuple[Communication, ...]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class Tables:
    """The ingredients of one space."""

    space: Space
    engine: Engine
    shape: Transformer
    clock: Clock
    practice: Practice
    _memo: _Memo
    _collectives: dict[Collective, tuple[float, bool]] = field(default_factory=dict)
    _asked: dict[tuple[object, ...], Asked] = field(default_factory=dict)

    @classmethod
    def of(cls, space: Space, engine: Engine, practice: Practice = MEGATRON_CORE) -> Tables:
        """Return empty tables of *space*."""
        gpu = space.network.gpu
        clock = clock_of(gpu, space.job.training, residual=residual_of(gpu), practice=practice)
        return cls(space, engine, transformer(space.model), clock, practice, _Memo())

    def on(self, space: Space) -> Tables:
        """Return the tables of the same job on another network of the same nodes."""
        assert space.job == self.space.job
        assert space.network.node == self.space.network.node
        assert space.network.gpu == self.space.network.gpu
        return Tables(space, self.engine, self.shape, self.clock, self.practice, self._memo)

    def kept(self, plan: Layout, training: Training) -> tuple[float, ...]:
        """Return what each of the fullest stages keeps of a micro-batch, and of the logits."""
        key = (plan.pipeline, *_shared(plan, training))
        if key not in self._memo.kept:
            attention = self.practice.attention
            self._memo.kept[key] = tuple(
                size
                for stage in fullest_stages(plan.pipeline)
                for size in kept_bytes(self.shape, plan, training, stage=stage, attention=attention)
            )
        return self._memo.kept[key]

    def states(self, plan: Layout, degrees: Divided) -> States:
        """Return what *plan* holds and updates."""
        key = (degrees, plan.pipeline, plan.zero)
        if key not in self._memo.states:
            self._memo.states[key] = self._states(plan)
        return self._memo.states[key]

    def _states(self, plan: Layout) -> States:
        network, training = self.space.network, self.space.job.training
        held = (
            states(self.shape, plan, training, stage=stage, gpu=network.gpu).total_bytes
            for stage in fullest_stages(plan.pipeline)
        )
        doubts = job_validity(self.shape, plan, network, self.practice) & gpu_validity(
            self.clock.machine, self.clock.residual
        )
        return States(
            held_bytes=tuple(held),
            optimizer_s=self.clock.machine.optimizer_s(optimizer_bytes(self.shape, plan)),
            inside=doubts.inside,
        )

    def costs(self, plan: Layout, training: Training) -> tuple[float, ...]:
        """Return the computation of a layer of each kind, of the embedding and of the logits."""
        key = _shared(plan, training)
        if key not in self._memo.costs:
            shard = replace(shard_of(plan, training), attention=self.practice.attention)
            layers = (
                value
                for moe in layer_kinds(self.shape)
                for value in self._layer(shard, training.recompute, moe=moe)
            )
            self._memo.costs[key] = (*layers, *self._ends(shard))
        return self._memo.costs[key]

    def _layer(self, shard: Shard, recompute: Recompute, *, moe: bool) -> tuple[float, ...]:
        own = shard if moe else replace(shard, expert=1)  # dense layers know no experts
        key = (own, recompute, moe)
        if key not in self._memo.layers:
            one = layer_costs(self.shape, own, self.clock, moe=moe, recompute=recompute)
            self._memo.layers[key] = _flat([one])
        return self._memo.layers[key]

    def _ends(self, shard: Shard) -> tuple[float, ...]:
        shard = replace(shard, expert=1)
        if shard not in self._memo.ends:
            self._memo.ends[shard] = _flat(end_costs(self.shape, shard, self.clock))
        return self._memo.ends[shard]

    def for_micro_batches(self, plan: Layout, training: Training) -> Asked:
        """Return what each micro-batch communicates."""
        key = (plan.pipeline, plan.data, *_shared(plan, training))
        if key not in self._asked:
            if key not in self._memo.items:
                found = micro_batch_communications(self.shape, plan, training)
                self._memo.items[key] = _items(found)
            self._asked[key] = self._ask(*self._memo.items[key])
        return self._asked[key]

    def for_data(self, plan: Layout, degrees: Divided) -> Asked:
        """Return what copies of the weights communicate."""
        key = (degrees, plan.pipeline, plan.zero)
        if key not in self._asked:
            found = data_communications(self.shape, plan, self.space.job.training)
            self._asked[key] = self._ask(*_items(found))
        return self._asked[key]

    def _ask(self, slots: tuple[Slot, ...], items: tuple[Communication, ...]) -> Asked:
        found = [self._run(item.collective) for item in items]
        return Asked(
            slots=slots,
            items=items,
            numbers=tuple(
                (time_s, item.each, item.collective.group.num_nodes > 1)
                for item, (time_s, _) in zip(items, found, strict=True)
            ),
            inside=all(inside for _, inside in found),
        )

    def _run(self, collective: Collective) -> tuple[float, bool]:
        known = self._collectives.get(collective)
        if known is None:
            outcome = self.engine.run(collective, self.space.network)
            known = self._collectives[collective] = (outcome.duration_s, outcome.validity.inside)
        return known


def _shared(plan: Layout, training: Training) -> tuple[object, ...]:
    """Return what one GPU's share of a micro-batch depends on."""
    return (
        plan.tensor,
        plan.context,
        plan.expert,
        plan.sequence_parallel,
        training.micro_batch,
        training.recompute,
    )


def _items(
    communications: Iterable[Communication],
) -> tuple[tuple[Slot, ...], tuple[Communication, ...]]:
    """Return the communications that are any, and what they have in common with others'."""
    items = tuple(item for item in communications if item.collective.group.size > 1)
    return tuple(Slot(item.axis, item.purpose, item.per, item.window) for item in items), items


def _flat(costs: Iterable[Costs]) -> tuple[float, ...]:
    return tuple(
        value
        for one in costs
        for value in (
            one.forward_s,
            one.backward_s,
            one.recompute_s,
            one.attention_s,
            one.attention_backward_s,
        )
    )
