"""Where a step lies among the measured ones, and which collectives its exposed time stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.engines.analytic.validity import collective_point
from netloom.step.residual import generation_of
from netloom.validated.axes import StepPoint
from netloom.validated.intervals import ExposedWait
from netloom.workload.parameters import parameters
from netloom.workload.recomputation import recompute_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from netloom.fabric.network import Network
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.workload.collective import Axis, Collective
    from netloom.workload.communication import Communication
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["exposed_waits", "layers_of", "step_point"]


def step_point(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    network: Network,
    practice: Practice,
    num_micro_batches: int,
) -> StepPoint:
    """Return where a step lies on every axis that validity asks about."""
    return StepPoint(
        generation=generation_of(network.gpu),
        precision=training.precision,
        software=practice.name,
        layers=layers_of(shape),
        num_gpus=plan.num_gpus,
        parameters=parameters(shape.model),
        sequence=training.sequence,
        tensor=plan.tensor,
        pipeline=plan.pipeline,
        virtual_pipeline=plan.virtual_pipeline,
        context=plan.context,
        expert=plan.expert,
        micro_batches=num_micro_batches,
        scale_up=network.node.num_gpus,
        recompute=recompute_kind(training.recompute, practice.recompute_modules),
    )


def layers_of(shape: Transformer) -> str:
    """Return the kind of layers that measured steps are told apart by."""
    return "mixture" if shape.num_moe_layers else "dense"


def exposed_waits(
    communications: Iterable[Communication],
    durations_s: Mapping[Collective, float],
    exposed_s: Mapping[Axis, float],
    network: Network,
) -> Iterator[ExposedWait]:
    """Yield the exposed time of each axis, shared among its collectives by what they take."""
    taken_s: dict[Axis, dict[Collective, float]] = {}
    for item in communications:
        if exposed_s.get(item.axis, 0.0) > 0:
            each = taken_s.setdefault(item.axis, {})
            whole_s = item.count * durations_s[item.collective]
            each[item.collective] = each.get(item.collective, 0.0) + whole_s
    for axis, each in taken_s.items():
        for collective, whole_s in each.items():
            if whole_s > 0:
                share = whole_s / sum(each.values())
                point = collective_point(collective, network)
                yield ExposedWait(share * exposed_s[axis], point)
