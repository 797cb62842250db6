"""Many configurations at once, through the functions that predict one.

Configurations are laid out as a matrix: rows differ in degrees and micro-batch, columns in the
virtual stages. What a row's columns share is computed once; numpy broadcasts it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from netloom.compute.roofline import Costs
from netloom.step.memory import DOUBTED_OVER, RESERVED_BYTES, fits, fullest_stages, in_flight
from netloom.step.model import Memory
from netloom.step.predict import CHECKED_EXPOSED, CHECKED_TECHNOLOGIES
from netloom.step.schedule import Traffic, schedule, slowest_of
from netloom.step.stages import layer_kinds, layer_times, stage_kinds, stage_times
from netloom.study.plan_space import RECOMPUTES, ZEROS, Configuration, Divided
from netloom.workload.communication import Communication
from netloom.workload.placement import stage_layers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.spec.scenario import Recompute, Training
    from netloom.step.schedule import StageTimes
    from netloom.study.plan_tables import Asked, States, Tables
    from netloom.workload.placement import Layout

__all__ = ["Batch", "batches"]

# A numpy array where the step's functions say float: they are written for both.
Array: TypeAlias = Any
_COSTS = tuple(field.name for field in fields(Costs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Configurations computed together: rows of degrees, columns of virtual stages.

    Attributes:
        fit: Which exist and fit in memory; the others' numbers mean nothing.
        inside: Which lie in the range that steps were checked in.
    """

    pipeline: int
    recompute: Recompute
    zero: int
    sequence_parallel: bool
    rows: tuple[Row, ...]
    virtuals: tuple[int, ...]
    duration_s: Array
    fit: Array
    inside: Array

    def configuration(self, row: int, column: int, *, machine: int) -> Configuration:
        """Return the configuration at one place."""
        degrees = self.rows[row].degrees
        return Configuration(
            machine=machine,
            tensor=degrees.tensor,
            pipeline=self.pipeline,
            virtual_pipeline=self.virtuals[column],
            context=degrees.context,
            expert=degrees.expert,
            data=degrees.data,
            micro_batch=self.rows[row].micro_batch,
            recompute=self.recompute,
            zero=self.zero,
            sequence_parallel=self.sequence_parallel,
        )


class Row(NamedTuple):
    """What the columns share."""

    degrees: Divided
    micro_batch: int
    num_micro_batches: int
    kept_bytes: tuple[float, ...]
    training: Training


class _Ready(NamedTuple):
    """A row that fits, with all that its time is made of."""

    row: Row
    asked: tuple[Asked, Asked]
    states: States
    costs: tuple[float, ...]
    fit: Array
    held_bytes: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Gathered(Communication):
    """One communication of many configurations."""

    time_s: Array
    between_nodes: Array


class _GatheredTraffic(Traffic):
    """What many steps communicate."""

    __slots__ = ()

    def time_s(self, item: Communication) -> float:
        assert isinstance(item, _Gathered)
        return item.time_s  # type: ignore[no-any-return]

    def is_between_nodes(self, item: Communication) -> bool:
        assert isinstance(item, _Gathered)
        return item.between_nodes  # type: ignore[no-any-return]


def batches(tables: Tables, pipeline: int) -> Iterator[Batch]:
    """Yield every configuration of *pipeline* stages that fits in memory.

    Rows of which no column fits are left out before anything else is asked about them.
    """
    for recompute in RECOMPUTES:
        for sequence_parallel in (True, False):
            rows = list(_rows(tables, pipeline, recompute, sequence_parallel=sequence_parallel))
            for zero in ZEROS:
                chosen = [row for row in rows if zero in tables.space.zeros(row.degrees)]
                part = _Part(tables, pipeline, recompute, zero, sequence_parallel)
                if chosen:
                    yield from part.batches(chosen)


def _rows(
    tables: Tables, pipeline: int, recompute: Recompute, *, sequence_parallel: bool
) -> Iterator[Row]:
    space = tables.space
    trainings: dict[int, Training] = {}
    for degrees in space.divided(pipeline):
        if sequence_parallel not in space.sequence_parallels(degrees):
            continue
        plan = space.layout(degrees, pipeline=pipeline, sequence_parallel=sequence_parallel)
        for size in space.micro_batches(degrees.data):
            changed = {"micro_batch": size, "recompute": recompute}
            if size not in trainings:
                trainings[size] = space.job.training.model_copy(update=changed)
            count = space.job.training.global_batch // degrees.data // size
            kept = tables.kept(plan, trainings[size])
            yield Row(degrees, size, count, kept, trainings[size])


@dataclass(frozen=True, slots=True)
class _Part:
    """What all rows of a batch have in common."""

    tables: Tables
    pipeline: int
    recompute: Recompute
    zero: int
    sequence_parallel: bool

    @property
    def virtuals(self) -> Array:
        """The columns."""
        return np.array([self.tables.space.virtuals(self.pipeline)])

    def layout(self, degrees: Divided) -> Layout:
        """Return where the ranks of a row sit."""
        return self.tables.space.layout(
            degrees,
            pipeline=self.pipeline,
            zero=self.zero,
            sequence_parallel=self.sequence_parallel,
        )

    def batches(self, rows: Sequence[Row]) -> Iterator[Batch]:
        """Yield the configurations of *rows* that fit, those alike in what they send together."""
        alike: dict[object, list[_Ready]] = {}
        for one in self._ready(rows):
            alike.setdefault(tuple(asked.slots for asked in one.asked), []).append(one)
        for group in alike.values():
            yield self._batch(group)

    def _ready(self, rows: Sequence[Row]) -> Iterator[_Ready]:
        states = self._states(rows)
        held = self._held_bytes(rows, [states[row.degrees] for row in rows])
        capacity = self.tables.space.network.gpu.memory_bytes
        fit: Array = fits(_memory(held, capacity)) & self._allowed(_counts(rows))
        plans = {degrees: self.layout(degrees) for degrees in states}
        some = fit.any(axis=1)
        for index, row in enumerate(rows):
            if some[index]:
                plan = plans[row.degrees]
                asked = (
                    self.tables.for_micro_batches(plan, row.training),
                    self.tables.for_data(plan, row.degrees),
                )
                costs = self.tables.costs(plan, row.training)
                yield _Ready(row, asked, states[row.degrees], costs, fit[index], held[index])

    def _states(self, rows: Sequence[Row]) -> dict[Divided, States]:
        return {
            degrees: self.tables.states(self.layout(degrees), degrees)
            for degrees in dict.fromkeys(row.degrees for row in rows)
        }

    def _held_bytes(self, rows: Sequence[Row], states: Sequence[States]) -> Array:
        """Return what the fullest GPU holds, by row and column."""
        kept = np.array([row.kept_bytes for row in rows])
        fixed = np.array([one.held_bytes for one in states])
        plan = self.layout(rows[0].degrees)
        counts = _counts(rows)
        totals = []
        for index, stage in enumerate(fullest_stages(self.pipeline)):
            at_once = in_flight(plan, num_micro_batches=counts, virtual=self.virtuals, stage=stage)
            layers, logits = kept[:, 2 * index, None], kept[:, 2 * index + 1, None]
            totals.append(fixed[:, index, None] + (layers * at_once + logits))
        return reduce(np.maximum, totals)

    def _allowed(self, counts: Array) -> Array:
        """Return where interleaved stages have micro-batches enough."""
        return (self.virtuals == 1) | (counts >= self.pipeline)

    def _batch(self, group: Sequence[_Ready]) -> Batch:
        times, optimizer_s = self._schedule(group)
        exposed_s = sum(times.exposed_s.values())
        duration_s: Array = times.compute_s + times.bubble_s + exposed_s + optimizer_s
        fit = np.stack([one.fit for one in group])
        return Batch(
            pipeline=self.pipeline,
            recompute=self.recompute,
            zero=self.zero,
            sequence_parallel=self.sequence_parallel,
            rows=tuple(one.row for one in group),
            virtuals=tuple(self.tables.space.virtuals(self.pipeline)),
            duration_s=np.broadcast_to(duration_s, fit.shape),
            fit=fit,
            inside=np.broadcast_to(self._inside(group, exposed_s / duration_s), fit.shape),
        )

    def _schedule(self, group: Sequence[_Ready]) -> tuple[Any, Array]:
        tables, counts = self.tables, _counts([one.row for one in group])
        traffic = self._traffic(group, counts)
        times = schedule(
            self._stages(group, traffic),
            traffic,
            num_micro_batches=counts,
            virtual=self.virtuals,
            slowdown=slowest_of(tables.space.num_gpus),
            order=tables.space.job.parallel.schedule,
        )
        return times, np.array([[one.states.optimizer_s] for one in group])

    def _stages(self, group: Sequence[_Ready], traffic: Traffic) -> list[StageTimes]:
        """Return the stages that differ, each with how many are like it."""
        tables = self.tables
        numbers: Array = np.array([one.costs for one in group])
        found = [
            Costs(**{name: numbers[:, first + index, None] for index, name in enumerate(_COSTS)})
            for first in range(0, numbers.shape[1], len(_COSTS))
        ]
        layer = {
            moe: layer_times(costs, traffic, tables.clock, moe=moe)
            for moe, costs in zip(layer_kinds(tables.shape), found, strict=False)
        }
        kinds = Counter(stage_kinds(tables.shape, self.pipeline))
        ends = (found[-2], found[-1])
        return [stage_times(layer, kind, ends, alike=n) for kind, n in kinds.items()]

    def _traffic(self, group: Sequence[_Ready], counts: Array) -> Traffic:
        layers = max(stage_layers(self.tables.shape.model.num_layers, self.pipeline))
        units = {
            "layer": counts * layers,
            "moe-layer": counts * min(layers, self.tables.shape.num_moe_layers),
            "chunk": counts * self.virtuals,
            "step": 1,
        }
        items: list[Communication] = []
        for part in (0, 1):
            numbers = np.array([one.asked[part].numbers for one in group])
            for index, item in enumerate(group[0].asked[part].items):
                time_s, each, between = (numbers[:, index, k, None] for k in range(3))
                items.append(_gathered(item, time_s, each, between, each * units[item.per]))
        return _GatheredTraffic(
            communications=tuple(items), durations_s={}, practice=self.tables.practice
        )

    def _inside(self, group: Sequence[_Ready], exposed_share: Array) -> Array:
        """Return which are not in doubt: as the single prediction says, doubt by doubt."""
        network = self.tables.space.network
        held = np.stack([one.held_bytes for one in group])
        roomy = (held + RESERVED_BYTES) / network.gpu.memory_bytes <= DOUBTED_OVER
        job = np.array([[one.states.inside] for one in group])
        asked = np.array([[one.asked[0].inside and one.asked[1].inside] for one in group])
        if network.technology.name in CHECKED_TECHNOLOGIES:
            asked = asked | (exposed_share <= CHECKED_EXPOSED)
        return roomy & job & asked


def _gathered(
    item: Communication, time_s: Array, each: Array, between: Array, count: Array
) -> _Gathered:
    return _Gathered(
        axis=item.axis,
        purpose=item.purpose,
        phase=item.phase,
        collective=item.collective,
        each=each,
        per=item.per,
        window=item.window,
        count=count,
        time_s=time_s,
        between_nodes=between,
    )


def _counts(rows: Sequence[Row]) -> Array:
    return np.array([[row.num_micro_batches] for row in rows])


def _memory(held_bytes: Array, capacity_bytes: float) -> Memory:
    return Memory(
        weights_bytes=held_bytes,
        gradients_bytes=0.0,
        optimizer_bytes=0.0,
        activations_bytes=0.0,
        capacity_bytes=capacity_bytes,
    )
