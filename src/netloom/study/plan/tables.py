"""The ingredients that configurations share, each asked for once.

Every number here comes from the very function that predicts a single step; the search only
remembers it. What it is remembered by is all that the number depends on, and no more: the GPUs of
a machine being given, the data-parallel degree follows from the others; what a GPU computes
depends on its tokens, whether more context ranks or a smaller micro-batch made them few; only
attention sees how long a piece of the sequence is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from netloom.step.basis import layers_of, step_point
from netloom.step.efficiency import highest_of
from netloom.step.memory import fullest_stages, kept_bytes, needed_bytes, states
from netloom.step.offload import offloaded_bytes
from netloom.step.predict import gpu_validity, job_validity, update_s
from netloom.step.residual import generation_of, residual_of
from netloom.step.software import practice_for
from netloom.step.stages import clock_of, end_costs, layer_kinds, stage_kinds
from netloom.step.tuning import diffusion_validity, tuning_validity
from netloom.validated.axes import AXES, KIND_AXES
from netloom.validated.near import StepKind, rows_of_kind
from netloom.workload.collective import Axis
from netloom.workload.demand import axis_communications, shard_of
from netloom.workload.flops import layer_operators, step_flops
from netloom.workload.sharding import data_communications
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.compute.roofline import Costs
    from netloom.engines.base import Engine
    from netloom.spec.scenario import Recompute, Training
    from netloom.step.practice import Practice
    from netloom.step.stages import OperatorTimes
    from netloom.study.plan.space import Space
    from netloom.validated.axes import StepPoint
    from netloom.validated.near import KindRows
    from netloom.workload.collective import Collective
    from netloom.workload.communication import Communication
    from netloom.workload.demand import MicroBatchAxis
    from netloom.workload.flops import Shard
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["CostQuery", "CostTables", "Slot", "States"]


Array: TypeAlias = Any
# Axes on which configurations of one plan differ.
VARIED: Final = ("virtual_pipeline", "micro_batches", "recompute")


class Slot(NamedTuple):
    """What communications of different configurations have in common.

    Attributes:
        nth: Of those of one configuration that are alike in all else.
    """

    axis: str
    purpose: str
    per: str
    window: str
    nth: int


class CostQuery(NamedTuple):
    """Communications of one configuration.

    Attributes:
        items: By slot, the communications themselves, of which axis, phase, unit and window are
            used.
        numbers: For each, how long it takes, how often for one of its kind, whether it needs NICs,
            and what the host takes.
        inside: Whether none of their durations is in doubt.
    """

    items: dict[Slot, Communication]
    numbers: tuple[tuple[float, int, bool, float], ...]
    inside: bool


class States(NamedTuple):
    """What does not depend on the micro-batch.

    Attributes:
        held_bytes: Needed for weights, gradients, optimizer state and what is reserved, by stage of
            those asked for.
        optimizer_s: The weight update.
    """

    held_bytes: tuple[float, ...]
    optimizer_s: float


@dataclass(frozen=True, slots=True)
class _Memo:
    """What does not depend on the network: it is the same on every machine of these GPUs."""

    costs: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)
    rest: dict[tuple[object, ...], Costs] = field(default_factory=dict)
    core: dict[tuple[object, ...], Costs] = field(default_factory=dict)
    ends: dict[tuple[object, ...], tuple[Costs, ...]] = field(default_factory=dict)
    kept: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)
    moved: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)
    states: dict[tuple[object, ...], States] = field(default_factory=dict)
    inside: dict[tuple[object, ...], bool] = field(default_factory=dict)
    items: dict[tuple[object, ...], dict[Slot, Communication]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CostTables:
    """The ingredients of one space."""

    space: Space
    engine: Engine
    shape: Transformer
    clock: OperatorTimes
    practice: Practice
    _memo: _Memo
    _collectives: dict[Collective, tuple[float, bool]] = field(default_factory=dict)
    _asked: dict[tuple[object, ...], CostQuery] = field(default_factory=dict)

    @classmethod
    def of(cls, space: Space, engine: Engine) -> CostTables:
        """Return empty tables of *space*."""
        gpu = space.network.gpu
        practice = practice_for(space.job, gpu)
        clock = clock_of(gpu, space.job.trained, residual=residual_of(gpu), practice=practice)
        return cls(space, engine, transformer(space.model), clock, practice, _Memo())

    def on(self, space: Space) -> CostTables:
        """Return the tables of the same job on another network of the same nodes."""
        assert space.job == self.space.job
        assert space.network.node == self.space.network.node
        assert space.network.gpu == self.space.network.gpu
        return CostTables(space, self.engine, self.shape, self.clock, self.practice, self._memo)

    @property
    def most_mfu(self) -> float:
        """The highest share of peak that was measured on such GPUs; infinite if none is known."""
        known = highest_of(self.space.network.gpu, self.space.job.trained.precision)
        return math.inf if known is None else known.mfu

    def mfu(self, duration_s: Array) -> Array:
        """Return the share of peak of steps that take *duration_s*."""
        needed, _ = step_flops(self.shape, self.space.job.trained)
        model_flops = needed / self.space.num_gpus
        return model_flops / (duration_s * self.clock.machine.peak_flops)

    def kept(self, plan: Layout, training: Training) -> tuple[float, ...]:
        """Return what each of the fullest stages keeps of a micro-batch, and of the logits."""
        share = training.micro_batch / plan.context
        spread = plan.expert > 1
        recompute = training.recompute
        key = (plan.pipeline, plan.tensor, share, plan.sequence_parallel, spread, recompute)
        found = self._memo.kept.get(key)
        if found is None:
            stages = fullest_stages(plan.pipeline)
            kept = kept_bytes(self.shape, plan, training, stages=stages, practice=self.practice)
            found = self._memo.kept[key] = tuple(
                size for one in kept for size in (one.each, one.once)
            )
        return found

    def moved(self, plan: Layout, training: Training) -> tuple[float, ...]:
        """Return what each kind of stage sends to the host of a micro-batch, first to last."""
        share, spread = training.micro_batch / plan.context, plan.expert > 1
        sizes = (plan.pipeline, plan.tensor, share, plan.sequence_parallel, spread)
        key = (*sizes, training.recompute)
        if key not in self._memo.moved:
            kinds = stage_kinds(self.shape, plan.pipeline)
            first = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
            self._memo.moved[key] = offloaded_bytes(
                self.shape, plan, training, stages=first, practice=self.practice
            )
        return self._memo.moved[key]

    def states(self, plan: Layout) -> States:
        """Return what *plan* holds and updates."""
        key = (plan.num_gpus, plan.pipeline, plan.tensor, plan.expert, plan.zero)
        if key not in self._memo.states:
            self._memo.states[key] = self._states(plan)
        return self._memo.states[key]

    def _states(self, plan: Layout) -> States:
        gpu, training = self.space.network.gpu, self.space.job.trained
        held = (
            states(self.shape, plan, training, stage=stage, gpu=gpu, practice=self.practice)
            for stage in fullest_stages(plan.pipeline)
        )
        return States(
            held_bytes=tuple(map(needed_bytes, held)),
            optimizer_s=update_s(
                self.shape,
                plan,
                self.clock.machine,
                practice=self.practice,
                node=self.space.network.node,
                tuning=training.tuning,
            ),
        )

    def is_inside(self, plan: Layout) -> bool:
        """Return whether the job itself, divided so, raises no doubt.

        What differs between configurations of a plan is apart: see :meth:`is_near`.
        """
        assert plan.virtual_pipeline == 1, plan
        degrees = (plan.tensor, plan.pipeline, plan.context, plan.expert)
        key = (plan.num_gpus, *degrees, plan.zero, self.space.network.node.name)
        found = self._memo.inside.get(key)
        if found is None:
            doubts = job_validity(self.shape, plan, self.space.network, self.practice)
            doubts &= gpu_validity(self.clock.machine, self.clock.residual)
            doubts &= tuning_validity(self.space.job.trained)
            doubts &= diffusion_validity(self.space.model, self.space.job.trained)
            found = self._memo.inside[key] = doubts.inside and not any(self._doubts(plan))
        return found

    def is_near(self, axis: str, value: float | str) -> bool:
        """Return whether measured steps vouch for *value* of an axis."""
        return not self._near.doubt(axis, value)

    def _doubts(self, plan: Layout) -> Iterator[str]:
        """Yield the doubts of the axes that *plan* decides, or that all configurations share."""
        point = self._point(plan)
        yield from self._near.doubts
        for axis in AXES:
            if axis.is_judged and axis not in KIND_AXES and axis.name not in VARIED:
                yield self._near.doubt(axis.name, getattr(point, axis.name))

    def _point(self, plan: Layout) -> StepPoint:
        return step_point(
            self.shape,
            plan,
            self.space.job.trained,
            network=self.space.network,
            practice=self.practice,
            num_micro_batches=1,
        )

    @property
    def _near(self) -> KindRows:
        gpu, precision = self.space.network.gpu, self.space.job.trained.precision
        layers = layers_of(self.shape)
        return rows_of_kind(StepKind(generation_of(gpu), layers, precision, self.practice.name))

    def costs(self, plan: Layout, training: Training) -> tuple[float, ...]:
        """Return the computation of a layer of each kind, of the embedding and of the logits."""
        sizes = (plan.tensor, training.micro_batch / plan.context, plan.sequence_parallel)
        key = (*sizes, plan.context, plan.expert, training.recompute)
        found = self._memo.costs.get(key)
        if found is None:
            shard = self.practice.on(shard_of(plan, training))
            layers = [
                self._layer(shard, training.recompute, sizes, moe=moe)
                for moe in layer_kinds(self.shape)
            ]
            found = self._memo.costs[key] = _flat((*layers, *self._ends(shard, sizes)))
        return found

    def _layer(
        self, shard: Shard, recompute: Recompute, sizes: tuple[object, ...], *, moe: bool
    ) -> Costs:
        """Return a layer: its attention, which alone sees pieces of a sequence, and the rest."""
        rest = self._rest(shard, sizes, moe=moe)
        core = self._core(shard, sizes, moe=moe)
        if self.practice.recompute_modules is not None:
            return rest + core  # which decide
        if recompute == "full":
            rest = replace(rest, recompute_s=rest.forward_s)
        if recompute != "none":
            core = replace(core, recompute_s=core.forward_s)
        return rest + core

    def _rest(self, shard: Shard, sizes: tuple[object, ...], *, moe: bool) -> Costs:
        expert = shard.expert if moe else 1  # dense layers know no experts
        key = (*sizes, moe, expert)
        if key not in self._memo.rest:
            operators = layer_operators(self.shape, replace(shard, expert=expert), moe=moe)
            others = (one for one in operators if not one.core_attention)
            self._memo.rest[key] = self.clock.layer_costs(others, recompute="none")
        return self._memo.rest[key]

    def _core(self, shard: Shard, sizes: tuple[object, ...], *, moe: bool) -> Costs:
        # The attention of both kinds is the same, but for models whose layers are one thing only.
        moe = moe if self.shape.model.pattern else layer_kinds(self.shape)[0]
        key = (*sizes[:2], shard.context, moe)
        if key not in self._memo.core:
            operators = layer_operators(self.shape, shard, moe=moe)
            core = (one for one in operators if one.core_attention)
            self._memo.core[key] = self.clock.layer_costs(core, recompute="none")
        return self._memo.core[key]

    def _ends(self, shard: Shard, sizes: tuple[object, ...]) -> tuple[Costs, ...]:
        if sizes not in self._memo.ends:
            self._memo.ends[sizes] = end_costs(self.shape, shard, self.clock)
        return self._memo.ends[sizes]

    def asked(self, axis: MicroBatchAxis, plan: Layout, training: Training) -> CostQuery:
        """Return what each micro-batch communicates on *axis*."""
        key = (axis, *_depends(axis, plan, training))
        found = self._asked.get(key)
        if found is None:
            shared = (plan.num_gpus, *key)
            if shared not in self._memo.items:
                items = axis_communications(
                    axis,
                    self.shape,
                    plan,
                    training,
                    self.practice.recompute_modules,
                    repeats_keys=self.practice.repeats_keys,
                )
                self._memo.items[shared] = _by_slot(items)
            found = self._asked[key] = self._ask(self._memo.items[shared])
        return found

    def for_data(self, plan: Layout) -> CostQuery:
        """Return what copies of the weights communicate."""
        key = (Axis.DATA, plan.pipeline, plan.tensor, plan.expert, plan.zero)
        found = self._asked.get(key)
        if found is None:
            shared = (plan.num_gpus, *key)
            if shared not in self._memo.items:
                items = data_communications(
                    self.shape, plan, self.space.job.trained, weights=self.practice.weights
                )
                self._memo.items[shared] = _by_slot(items)
            found = self._asked[key] = self._ask(self._memo.items[shared])
        return found

    def _ask(self, items: dict[Slot, Communication]) -> CostQuery:
        found = [self._run(item.collective) for item in items.values()]
        return CostQuery(
            items=items,
            numbers=tuple(
                (time_s, item.each, item.collective.group.num_nodes > 1, item.host_s)
                for item, (time_s, _) in zip(items.values(), found, strict=True)
            ),
            inside=all(inside for _, inside in found),
        )

    def _run(self, collective: Collective) -> tuple[float, bool]:
        known = self._collectives.get(collective)
        if known is None:
            outcome = self.engine.run(collective, self.space.network)
            known = self._collectives[collective] = (outcome.duration_s, outcome.validity.inside)
        return known


def _depends(axis: MicroBatchAxis, plan: Layout, training: Training) -> tuple[object, ...]:
    """Return all that the communications of *axis* depend on, the GPUs being given."""
    share = training.micro_batch / plan.context
    recompute = training.recompute
    match axis:
        case Axis.TENSOR:
            return plan.tensor, share, plan.sequence_parallel, recompute == "full"
        case Axis.CONTEXT:
            return plan.context, plan.tensor, share, recompute != "none"
        case Axis.EXPERT:
            split = plan.tensor if plan.sequence_parallel else 1
            return plan.expert, plan.expert_split, share, split, recompute == "full"
        case Axis.PIPELINE:
            return plan.pipeline, plan.tensor, share


def _by_slot(communications: Iterable[Communication]) -> dict[Slot, Communication]:
    """Return the communications that are any, by what they have in common with others'."""
    found: dict[Slot, Communication] = {}
    for item in communications:
        if item.collective.group.size > 1:
            slot = Slot(item.axis, item.purpose, item.per, item.window, 0)
            while slot in found:
                slot = slot._replace(nth=slot.nth + 1)
            found[slot] = item
    return found


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
