"""Many configurations at once, through the functions that predict one.

Configurations are laid out as a matrix: lines differ in degrees, micro-batch, recomputation and
ZeRO, columns in the virtual stages. What a line's columns share is computed once; numpy
broadcasts it. A communication that some lines do not have takes no time there, which changes no
sum.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from netloom.compute.roofline import Costs
from netloom.step.memory import DOUBTED_OVER, REFUSED_OVER, SLACK, fullest_stages, in_flight
from netloom.step.offload import waiting_for_host
from netloom.step.schedule import schedule, slowest_of
from netloom.step.stages import layer_kinds, layer_times, stage_kinds, stage_times
from netloom.study.plan.gather import gathered_traffic
from netloom.study.plan.space import ZEROS, Configuration
from netloom.validated.steps import step_range
from netloom.workload.demand import MICRO_BATCH_AXES
from netloom.workload.placement import has_even_chunks, stage_layers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.spec.scenario import Training
    from netloom.step.schedule import Schedule, StageTimes, Traffic
    from netloom.study.plan.space import Divided, Standing
    from netloom.study.plan.tables import CostQuery, CostTables
    from netloom.workload.placement import Layout

__all__ = ["Batch", "batches"]

# A numpy array where the step's functions say float: they are written for both.
Array: TypeAlias = Any
_COSTS: Final = tuple(field.name for field in fields(Costs))
# Configurations computed together, ZeRO stages included: arrays of 512 KiB, which caches hold.
_AT_ONCE: Final = 1 << 16


class Division(NamedTuple):
    """What micro-batches of all sizes share: the degrees, and a layout for each ZeRO stage."""

    degrees: Divided
    plans: dict[int, Layout]


class SharedRow(NamedTuple):
    """What ZeRO stages and columns share."""

    division: int
    training: Training
    num_micro_batches: int
    kept_bytes: tuple[float, ...]


class ZeroStageRow(NamedTuple):
    """A row with a ZeRO stage: what columns share."""

    row: SharedRow
    plan: Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Configurations computed together: lines by virtual stages.

    Attributes:
        fit: Which exist and fit in memory; the others' numbers mean nothing.
        inside: Which lie in the range that steps were checked in, their MFU apart.
        above: Which have a higher MFU than was ever measured on such GPUs.
    """

    lines: tuple[ZeroStageRow, ...]
    virtuals: tuple[int, ...]
    duration_s: Array
    fit: Array
    inside: Array
    above: Array

    def standing(self, standing: Standing) -> Array:
        """Return which stand so: see :data:`netloom.study.plan.space.Standing`."""
        if standing == "outside":
            return ~self.inside
        return self.inside & (self.above == (standing == "above"))

    def configuration(self, line: int, column: int, *, machine: int) -> Configuration:
        """Return the configuration at one place."""
        row, plan = self.lines[line]
        return Configuration(
            machine=machine,
            tensor=plan.tensor,
            pipeline=plan.pipeline,
            virtual_pipeline=self.virtuals[column],
            context=plan.context,
            expert=plan.expert,
            data=plan.data,
            micro_batch=row.training.micro_batch,
            recompute=row.training.recompute,
            zero=plan.zero,
            sequence_parallel=plan.sequence_parallel,
        )


class _Fit(NamedTuple):
    """Lines of which some column fits."""

    lines: list[ZeroStageRow]
    fit: Array
    held_bytes: Array


def batches(tables: CostTables, pipeline: int) -> Iterator[Batch]:
    """Yield every configuration of *pipeline* stages that fits in memory.

    Lines of which no column fits are left out before anything else is asked about them.
    """
    part = _StageBatch.of(tables, pipeline)
    rows = part.rows()
    while chunk := list(islice(rows, part.num_rows)):
        fitting = part.fitting(chunk)
        if fitting.lines:
            yield part.batch(fitting)


@dataclass(frozen=True, slots=True)
class _StageBatch:
    """All configurations with one number of stages.

    Attributes:
        virtuals: The columns.
        held_bytes: What does not depend on the micro-batch, by ZeRO stage, division and stage;
            infinite where the ZeRO stage is none of the division's.
    """

    tables: CostTables
    pipeline: int
    virtuals: Array
    divisions: list[Division]
    held_bytes: Array

    @classmethod
    def of(cls, tables: CostTables, pipeline: int) -> _StageBatch:
        """Return the part of *pipeline* stages."""
        divisions = list(_divisions(tables, pipeline))
        nothing = (np.inf,) * len(fullest_stages(pipeline))
        held = [
            [
                tables.states(one.plans[zero]).held_bytes if zero in one.plans else nothing
                for one in divisions
            ]
            for zero in ZEROS
        ]
        virtuals = np.array([tables.space.virtuals(pipeline)])
        return cls(tables, pipeline, virtuals, divisions, np.array(held))

    @property
    def num_rows(self) -> int:
        """Rows to take together."""
        num_columns: int = self.virtuals.size
        return max(1, _AT_ONCE // (len(ZEROS) * num_columns))

    def rows(self) -> Iterator[SharedRow]:
        """Yield every row."""
        space = self.tables.space
        trainings = space.trainings()
        for index, division in enumerate(self.divisions):
            plan = next(iter(division.plans.values()))
            for size in space.micro_batches(plan.data):
                count = space.job.trained.global_batch // plan.data // size
                if count % self.tables.practice.accumulation:
                    continue
                for recompute in space.recomputes():
                    training = trainings[size, recompute]
                    yield SharedRow(index, training, count, self.tables.kept(plan, training))

    def fitting(self, rows: Sequence[SharedRow]) -> _Fit:
        """Return the lines of *rows* that fit, ZeRO stage by ZeRO stage."""
        counts = _counts(rows)
        allowed = (self.virtuals == 1) | (counts >= self.pipeline)  # interleaving may starve
        activations = self._activations(rows, counts)
        divisions = np.array([row.division for row in rows])
        lines: list[ZeroStageRow] = []
        fit: list[Array] = []
        held: list[Array] = []
        for zero, fixed in zip(ZEROS, self.held_bytes, strict=True):
            each = (fixed[divisions, s, None] + one for s, one in enumerate(activations))
            total: Array = reduce(np.maximum, each)
            fits_here = self._fits(total) & allowed
            some: list[int] = np.flatnonzero(fits_here.any(axis=1)).tolist()
            lines += [
                ZeroStageRow(rows[i], self.divisions[rows[i].division].plans[zero]) for i in some
            ]
            fit.append(fits_here[some])
            held.append(total[some])
        return _Fit(lines, np.concatenate(fit), np.concatenate(held))

    def _fits(self, held_bytes: Array) -> Array:
        capacity_bytes = self.tables.space.network.gpu.memory_bytes
        fit: Array = held_bytes <= REFUSED_OVER * capacity_bytes
        return fit

    def _activations(self, rows: Sequence[SharedRow], counts: Array) -> list[Array]:
        """Return what each of the fullest stages keeps of micro-batches, by row and column."""
        kept = np.array([row.kept_bytes for row in rows])
        kept *= 1 + SLACK[self.tables.practice.kernels]
        plan = next(iter(self.divisions[0].plans.values()))
        layers = stage_layers(self.tables.shape.model.num_layers, self.pipeline)
        found = []
        for index, stage in enumerate(fullest_stages(self.pipeline)):
            at_once = in_flight(
                plan,
                num_micro_batches=counts // self.tables.practice.accumulation,
                virtual=self.virtuals,
                stage=stage,
                num_layers=layers[stage],
            )
            found.append(kept[:, 2 * index, None] * at_once + kept[:, 2 * index + 1, None])
        return found

    def batch(self, fitting: _Fit) -> Batch:
        """Return the configurations of *fitting*."""
        lines, tables = fitting.lines, self.tables
        asked = self._asked(lines)
        times = self._schedule(lines, asked)
        states = [tables.states(line.plan) for line in lines]
        optimizer_s = np.array([[one.optimizer_s] for one in states])
        exposed_s = sum(times.exposed_s.values())
        duration_s: Array = times.compute_s + times.bubble_s + exposed_s + optimizer_s
        shape = fitting.fit.shape
        duration_s = np.broadcast_to(duration_s, shape)
        certain = self._certain(lines, asked, exposed_s / duration_s)
        return Batch(
            lines=tuple(lines),
            virtuals=tuple(self.virtuals[0].tolist()),
            duration_s=duration_s,
            fit=fitting.fit,
            inside=certain & self._roomy(fitting.held_bytes) & self._near(lines) & self._even(),
            above=tables.mfu(duration_s) > tables.most_mfu,
        )

    def _asked(self, lines: Sequence[ZeroStageRow]) -> list[list[CostQuery]]:
        """Return what the lines communicate, axis by axis."""
        tables = self.tables
        found = [
            [tables.asked(axis, plan, row.training) for row, plan in lines]
            for axis in MICRO_BATCH_AXES
        ]
        return [*found, [tables.for_data(plan) for _, plan in lines]]

    def _schedule(
        self, lines: Sequence[ZeroStageRow], asked: Sequence[Sequence[CostQuery]]
    ) -> Schedule:
        tables, counts = self.tables, _counts([line.row for line in lines])
        layers = max(stage_layers(tables.shape.model.num_layers, self.pipeline))
        units = {
            "layer": counts * layers,
            "moe-layer": counts * tables.shape.most_moe_layers(layers),
            "dense-layer": counts * (layers - tables.shape.most_moe_layers(layers)),
            "chunk": counts * self.virtuals,
            "group": np.maximum(0, -(-counts // self.pipeline) - 1),
            "step": 1,
        }
        traffic = gathered_traffic(asked, units=units, practice=tables.practice)
        return schedule(
            self._stages(lines, traffic),
            traffic,
            num_micro_batches=counts,
            virtual=self.virtuals,
            slowdown=slowest_of(tables.space.num_gpus),
            order=tables.space.job.parallel.schedule,
        )

    def _stages(self, lines: Sequence[ZeroStageRow], traffic: Traffic) -> list[StageTimes]:
        """Return the stages that differ, each with how many are like it."""
        tables = self.tables
        numbers: Array = np.array([tables.costs(plan, row.training) for row, plan in lines])
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
        stages = [stage_times(layer, kind, ends, alike=n) for kind, n in kinds.items()]
        if not tables.practice.activation_offload:
            return stages
        moved: Array = np.array([tables.moved(plan, row.training) for row, plan in lines])
        node = tables.space.network.node
        return [
            waiting_for_host(stage, moved[:, index, None], node)
            for index, stage in enumerate(stages)
        ]

    def _certain(
        self,
        lines: Sequence[ZeroStageRow],
        asked: Sequence[Sequence[CostQuery]],
        exposed_share: Array,
    ) -> Array:
        """Return which raise no doubt about the job and its communication."""
        job = np.array([[self.tables.is_inside(plan)] for _, plan in lines])
        network: Array = np.array(
            [[all(one.inside for one in line)] for line in zip(*asked, strict=True)]
        )
        checked = step_range()
        if self.tables.space.network.technology.name in checked.technologies:
            network = network | (exposed_share <= checked.max_exposed_share)
        return job & network

    def _roomy(self, held_bytes: Array) -> Array:
        """Return which surely fit."""
        capacity_bytes = self.tables.space.network.gpu.memory_bytes
        roomy: Array = held_bytes / capacity_bytes <= DOUBTED_OVER
        return roomy

    def _near(self, lines: Sequence[ZeroStageRow]) -> Array:
        """Return which lines are near measured steps in micro-batches and recomputation."""
        is_near = self.tables.is_near
        return np.array(
            [
                [
                    is_near("micro_batches", row.num_micro_batches)
                    and is_near("recompute", row.training.recompute)
                ]
                for row, _ in lines
            ]
        )

    def _even(self) -> Array:
        """Return which columns divide the layers evenly, into about as many chunks as measured."""
        layers = self.tables.shape.model.num_layers
        virtuals = self.virtuals[0].tolist()
        return np.array(
            [
                [
                    has_even_chunks(layers, self.pipeline, virtual)
                    and self.tables.is_near("virtual_pipeline", virtual)
                    for virtual in virtuals
                ]
            ]
        )


def _divisions(tables: CostTables, pipeline: int) -> Iterator[Division]:
    space = tables.space
    for degrees in space.divided(pipeline):
        for parallel in space.sequence_parallels(degrees):
            plans = {
                zero: space.layout(
                    degrees, pipeline=pipeline, zero=zero, sequence_parallel=parallel
                )
                for zero in space.zeros(degrees)
            }
            yield Division(degrees, plans)


def _counts(rows: Sequence[SharedRow]) -> Array:
    return np.array([[row.num_micro_batches] for row in rows])
