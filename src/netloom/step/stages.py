"""How long each pipeline stage takes with one micro-batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netloom.compute.roofline import NO_COSTS, costs, roofline
from netloom.spec.precision import is_cast
from netloom.step.schedule import StageTimes, layer_exposed_s
from netloom.workload.demand import shard_of
from netloom.workload.flops import embedding_operators, head_operators, layer_operators
from netloom.workload.placement import stage_layers
from netloom.workload.recomputation import is_again
from netloom.workload.sharding import stage_dense_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.compute.roofline import Costs, Roofline
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Recompute, Training
    from netloom.step.practice import Practice
    from netloom.step.residual import Residual
    from netloom.step.schedule import Traffic
    from netloom.workload.collective import Axis
    from netloom.workload.flops import Operator, Shard
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = [
    "OperatorTimes",
    "StageKind",
    "clock_of",
    "end_costs",
    "layer_costs",
    "layer_kinds",
    "layer_times",
    "stage_kinds",
    "stage_times",
    "stages_of",
]


class StageKind(NamedTuple):
    """What a pipeline stage holds."""

    num_dense: int
    num_moe: int
    is_first: bool
    is_last: bool


def stages_of(
    shape: Transformer, plan: Layout, training: Training, clock: OperatorTimes, traffic: Traffic
) -> list[StageTimes]:
    """Return the times of every pipeline stage, first to last."""
    shard = clock.practice.on(shard_of(plan, training))
    layer = {}
    for moe in layer_kinds(shape):
        one = layer_costs(shape, shard, clock, moe=moe, recompute=training.recompute)
        layer[moe] = layer_times(one, traffic, clock, moe=moe)
    ends = end_costs(shape, shard, clock)
    return [stage_times(layer, kind, ends) for kind in stage_kinds(shape, plan.pipeline)]


def layer_kinds(shape: Transformer) -> list[bool]:
    """Return whether layers have experts: both answers for a model that has both."""
    counts = ((False, shape.num_dense_layers), (True, shape.num_moe_layers))
    return [moe for moe, count in counts if count]


def layer_costs(
    shape: Transformer, shard: Shard, clock: OperatorTimes, *, moe: bool, recompute: Recompute
) -> Costs:
    """Return the computation of one layer."""
    return clock.layer_costs(layer_operators(shape, shard, moe=moe), recompute=recompute)


def layer_times(one: Costs, traffic: Traffic, clock: OperatorTimes, *, moe: bool) -> StageTimes:
    """Return one layer of computation *one* with its communication."""
    exposed_s = layer_exposed_s(traffic, one, moe=moe)
    forward = layer_exposed_s(traffic, one, moe=moe, only="forward")
    return StageTimes(
        costs=one,
        exposed_s=exposed_s,
        exposed_forward_s=sum(forward.values()),
        host_s=clock.host_s(one, sum(exposed_s.values()), moe=moe),
    )


def stage_kinds(shape: Transformer, num_stages: int) -> list[StageKind]:
    """Return what every stage holds, first to last."""
    counts = stage_layers(shape.model.num_layers, num_stages)
    kinds = []
    for stage, num_layers in enumerate(counts):
        num_dense = stage_dense_layers(shape, counts, stage)
        ends = (stage == 0, stage == num_stages - 1)
        kinds.append(StageKind(num_dense, num_layers - num_dense, *ends))
    return kinds


def stage_times(
    layer: Mapping[bool, StageTimes], kind: StageKind, ends: tuple[Costs, Costs], *, alike: int = 1
) -> StageTimes:
    """Return a stage of layers, with the embedding and the logits where it holds them."""
    first, last = ends
    total = (first if kind.is_first else NO_COSTS) + (last if kind.is_last else NO_COSTS)
    forward_s = host_s = 0.0
    exposed_s: dict[Axis, float] = {}
    for count, moe in ((kind.num_dense, False), (kind.num_moe, True)):
        if count:
            total = total + layer[moe].costs * count
            forward_s = forward_s + layer[moe].exposed_forward_s * count
            host_s = host_s + layer[moe].host_s * count
            for axis, time_s in layer[moe].exposed_s.items():
                exposed_s[axis] = exposed_s.get(axis, 0.0) + count * time_s
    return StageTimes(
        costs=total,
        exposed_s=exposed_s,
        exposed_forward_s=forward_s,
        host_s=host_s,
        alike=alike,
    )


def end_costs(shape: Transformer, shard: Shard, clock: OperatorTimes) -> tuple[Costs, Costs]:
    """Return the costs of the embedding and of logits and loss; neither is recomputed."""
    first = clock.costs(embedding_operators(shape, shard), recompute="none")
    # Logits stay in 16 bits: Megatron-Core's and torchtitan's output layer is never fp8.
    return first, clock.in_16_bits().costs(head_operators(shape, shard), recompute="none")


def clock_of(
    gpu: Gpu, training: Training, *, residual: Residual, practice: Practice
) -> OperatorTimes:
    """Return the clock of *training* on *gpu*."""
    machine = roofline(gpu, training.precision)
    return OperatorTimes(machine, _roofline_16(gpu, training), residual, practice, training)


@dataclass(frozen=True, slots=True)
class OperatorTimes:
    """How long operators take in a step."""

    machine: Roofline
    machine_16: Roofline
    residual: Residual
    practice: Practice
    training: Training

    def costs(self, operators: Iterable[Operator], *, recompute: Recompute) -> Costs:
        """Return the time of *operators* on the GPU."""
        found = costs(map(self._slowed, operators), self.machine, recompute=recompute)
        return found * (self.residual.of(self.training.precision) * self.practice.age)

    def layer_costs(self, operators: Iterable[Operator], *, recompute: Recompute) -> Costs:
        """Return the time of operators of a layer; the software's modules decide what runs again.

        Where it names none, *recompute* does.
        """
        modules = self.practice.recompute_modules
        if modules is None:
            return self.costs(operators, recompute=recompute)
        again: list[Operator] = []
        once: list[Operator] = []
        for one in operators:
            (again if is_again(one, modules) else once).append(one)
        return self.costs(again, recompute="full") + self.costs(once, recompute="none")

    def in_16_bits(self) -> OperatorTimes:
        """Return the clock of operators that stay in 16 bits in fp8 training."""
        return replace(self, machine=self.machine_16, training=_in_bf16(self.training))

    def host_s(self, layer: Costs, exposed_s: float, *, moe: bool = False) -> float:
        """Return how long the GPU waits for the host in one layer, all its passes.

        The GPU waits where a pass is shorter than its launch. Passes of a layer differ, so
        around the crossing the two add in part: the fourth-power mean.
        """
        num_passes = 2 + np.greater(layer.recompute_s, layer.forward_s / 2)
        launch_s = num_passes * self.practice.launch_s(moe=moe)
        gpu_s = layer.total_s + exposed_s
        waits_s: float = (gpu_s**4 + launch_s**4) ** 0.25 - gpu_s
        return waits_s

    def _paced(self, operator: Operator) -> tuple[float, float]:
        """Return each pass over what its bytes need, where its instructions take longer.

        Graphs of whole layers hold fused kernels in their place (Transformer Engine's clamped
        activation; assumed).
        """
        if operator.paces is None or self.practice.graphs_everything:
            return 1.0, 1.0
        rate = self.machine.pointwise_bytes_per_s
        forward, backward = operator.paces
        return max(1.0, rate / forward), max(1.0, rate / backward)

    def _slowed(self, operator: Operator) -> Operator:
        """Return *operator* with the work that older kernels make of it."""
        match operator.kind:
            case "attention":
                slower = self.residual.attention(self.practice.flash)
                return replace(
                    operator,
                    flops=slower * operator.flops,
                    backward_flops=slower * operator.backward_flops,
                )
            case "pointwise" | "norm":
                slower = 1.0 if self.practice.fused else self.residual.unfused
                forward, backward = self._paced(operator)
                return replace(
                    operator,
                    size_bytes=slower * forward * operator.size_bytes,
                    backward_bytes=slower * backward * operator.backward_bytes,
                )
            case _:
                return operator


def _in_bf16(training: Training) -> Training:
    if not is_cast(training.precision):
        return training
    return training.model_copy(update={"precision": "bf16"})


def _roofline_16(gpu: Gpu, training: Training) -> Roofline:
    return roofline(gpu, _in_bf16(training).precision)
