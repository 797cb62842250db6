"""What would make a refused job fit, by what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.engines.analytic import AnalyticEngine
from netloom.errors import InfeasibleError, NetloomError
from netloom.step import predict as step_predict
from netloom.step.memory import fits, memory
from netloom.step.memory.fit import refusal, remedies
from netloom.step.software import practice_for
from netloom.units import TIME, format_quantity
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Job
    from netloom.step.memory.fit import MemoryRemedy

__all__ = ["with_costs"]


def with_costs(
    refused: InfeasibleError, job: Job, *, model: Model, network: Network
) -> InfeasibleError:
    """Return *refused* with the step time of every remedy, the fastest first.

    Steps are those of the analytic engine, whichever was asked for. What was refused for another
    reason than memory comes back as it is.
    """
    shape, gpu = transformer(model), network.gpu
    practice = practice_for(job, gpu)
    plan = layout(
        job.parallel,
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=job.placement,
    )
    held = memory(shape, plan, job.trained, gpu=gpu, practice=practice)
    if fits(held):
        return refused
    found = remedies(shape, plan, job.trained, gpu=gpu, practice=practice)
    times = [(_duration_s(one, job, model, network), one.name) for one in found]
    known = sorted((time_s, name) for time_s, name in times if time_s is not None)
    helps = [f"{name} ({format_quantity(time_s, TIME)})" for time_s, name in known]
    return refusal(held, shape, gpu, helps, practice=practice, order=", fastest step first")


def _duration_s(one: MemoryRemedy, job: Job, model: Model, network: Network) -> float | None:
    """Return the step of *job* with the remedy; None where it cannot be run so."""
    changed = job.model_copy(
        update={
            "parallel": job.parallel.model_copy(update=one.parallel),
            "training": job.trained.model_copy(update=one.training),
        }
    )
    try:
        step = step_predict.predict(changed, model=model, network=network, engine=AnalyticEngine())
    except NetloomError:
        return None
    return float(step.duration_s)
