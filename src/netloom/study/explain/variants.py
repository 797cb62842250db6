"""What the step would be with one thing changed: which change makes it the measured one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import NetloomError
from netloom.study.predict.prediction import predict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Recompute, Scenario
    from netloom.step.model import Step

__all__ = ["Variant", "recomputing", "variants_of"]

_RECOMPUTES: Final[tuple[Recompute, ...]] = ("none", "selective", "full")
NEAR: Final = 0.5  # of the way from prediction to measurement, or it explains little
SLOWER_NETWORKS: Final = (0.5, 0.25, 0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One change.

    Attributes:
        step_s: The step with it.
        off: The step over the measured one, less 1.
    """

    change: str
    step_s: float
    off: float


def variants_of(scenario: Scenario, catalog: Catalog, *, measured_s: float) -> tuple[Variant, ...]:
    """Return the changes that bring the step at least half way to the measured one.

    The nearest comes first; last a slow GPU, which fits any measurement, because how slow it would
    be is taken from that.
    """
    prediction = predict(scenario, catalog)
    step = prediction.step
    gap = abs(math.log(measured_s / step.duration_s))
    near = [
        Variant(change=change, step_s=step_s, off=step_s / measured_s - 1)
        for change, step_s in _changed(scenario, catalog)
        if abs(math.log(measured_s / step_s)) <= NEAR * gap
    ]
    near.sort(key=lambda one: abs(one.off))
    alone = prediction.network.design.num_gpus == 1
    return (*near, *_slower_gpu(step, measured_s, alone=alone))


def _changed(scenario: Scenario, catalog: Catalog) -> Iterator[tuple[str, float]]:
    for change, other, parts in (*_jobs(scenario, catalog), *_networks(scenario, catalog)):
        try:
            yield change, predict(other, parts).step.duration_s
        except NetloomError:
            continue  # it would not run: it is not what ran


def _jobs(scenario: Scenario, catalog: Catalog) -> Iterator[tuple[str, Scenario, Catalog]]:
    """Yield the scenario with another way to run the job."""
    job = scenario.job
    for recompute in _RECOMPUTES:
        if job.software.recompute_modules is not None or recompute != job.trained.recompute:
            yield f"recompute: {recompute}", recomputing(scenario, recompute), catalog
    yield from ((said, other, catalog) for said, other in _software(scenario))
    scattered = job.placement.model_copy(update={"kind": "scattered"})
    if job.placement.kind != "scattered":
        other = _with_job(scenario, placement=scattered)
        yield "ranks scattered over the cluster", other, catalog


def recomputing(scenario: Scenario, recompute: Recompute) -> Scenario:
    """Return *scenario* with other recomputation, whatever modules it names."""
    training = scenario.job.trained.model_copy(update={"recompute": recompute})
    software = scenario.job.software.model_copy(update={"recompute_modules": None})
    return _with_job(scenario, training=training, software=software)


def _software(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield the scenario with one switch of its software off, or an older attention kernel."""
    software = scenario.job.software
    for switch in ("tensor_overlap", "pipeline_overlap", "data_overlap", "cuda_graphs"):
        if getattr(software, switch) is not False:
            other = software.model_copy(update={switch: False})
            yield f"software.{switch}: false", _with_job(scenario, software=other)
    for kernel in ("flash-2", "unfused"):
        if software.attention != kernel:
            other = software.model_copy(update={"attention": kernel})
            yield f"software.attention: {kernel}", _with_job(scenario, software=other)


def _with_job(scenario: Scenario, **update: Any) -> Scenario:
    return scenario.model_copy(update={"job": scenario.job.model_copy(update=update)})


def _networks(scenario: Scenario, catalog: Catalog) -> Iterator[tuple[str, Scenario, Catalog]]:
    """Yield the scenario on a slower network."""
    name = scenario.cluster.fabric.technology
    technology = catalog.technology(name)
    for share in SLOWER_NETWORKS:
        limit_bps = share * min(technology.rate_bps, technology.host_rate_bps or math.inf)
        slower = technology.model_copy(update={"host_rate_bps": limit_bps})
        parts = replace(catalog, technologies={**catalog.technologies, slower.name: slower})
        yield f"the network between nodes at {share:.0%} of its rate", scenario, parts


def _slower_gpu(step: Step, measured_s: float, *, alone: bool) -> Iterator[Variant]:
    """Yield the GPU that would make the step: every other rank waits for it."""
    factor = 1 + (measured_s - step.duration_s) / (step.compute_s + step.bubble_s)
    if factor > 1:
        others = "predicted" if alone else "the others"
        change = f"one GPU computes {_more(factor)} {others}"
        yield Variant(change=change, step_s=measured_s, off=0.0)


def _more(factor: float) -> str:
    return f"{factor - 1:.0%} longer than" if factor < 2 else f"{factor:.1f} times as long as"
