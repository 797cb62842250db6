"""What a job asks of the cut between its sites, taken from its step at one site."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.parts import Model
    from netloom.spec.scenario import Parallel, Scenario
    from netloom.spec.sites import SiteSpec, SyncSpec
    from netloom.step.across.exchange import AcrossShape
    from netloom.step.model import Step
    from netloom.study.span.walk import SiteWalk

__all__ = ["CutCase", "cut_case", "stages_before", "whole_gpus"]

BF16_BYTES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CutCase:
    """A job over several sites.

    Attributes:
        one_site_s: Its step where all nodes stand at one site.
        forward_s: Of each pipeline stage, for one micro-batch.
        backward_s: The same, recomputation included.
        pipeline_s: Of the one-site step, what its pipeline takes.
        num_micro_batches: Of one data-parallel rank in a step.
        accumulation: Batches that they come in; the pipeline is drained after each.
        inside_s: All data-parallel communication at one site.
        inside_exposed_s: Of it, what nothing hides.
        hidden_s: Computation that an exchange of gradients can hide behind.
        volume_bytes: Gradients that data-parallel copies exchange in a step.
        unhidden_bytes: Weights that ZeRO 3 gathers over the cut, twice a step, hidden by nothing.
        activation_bytes: Over a cut for one micro-batch of every pipeline, one direction.
        batch_memory_bytes: What one more micro-batch in flight takes of a GPU.
        free_memory_bytes: What a GPU has left.
        whole_copies: Whether every site holds copies of the model, and groups of experts, whole.
        cuts: Stages before each crossing, where the pipeline can be laid over the sites.
        rate_bps: Payload of the slowest span on the way, one direction.
        delay_s: Of the longest span on the way, one way.
        hops: Delays on the critical path of an all-reduce across.
    """

    one_site_s: float
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    pipeline_s: float
    num_micro_batches: int
    accumulation: int
    inside_s: float
    inside_exposed_s: float
    hidden_s: float
    volume_bytes: float
    unhidden_bytes: float
    activation_bytes: float
    batch_memory_bytes: float
    free_memory_bytes: float
    parameters: float
    num_sites: int
    shape: AcrossShape
    hops: int
    whole_copies: bool
    cuts: tuple[int, ...]
    rate_bps: float
    delay_s: float
    sync: SyncSpec

    @property
    def num_in_a_batch(self) -> int:
        """Micro-batches between two times that the pipeline is drained."""
        return self.num_micro_batches // self.accumulation

    @property
    def turn_s(self) -> float:
        """Of the slowest stage: both passes of one micro-batch."""
        return max(f + b for f, b in zip(self.forward_s, self.backward_s, strict=True))


def stages_before(sites: Sequence[SiteSpec], num_stages: int) -> tuple[int, ...]:
    """Return the stages before each crossing; none where nodes and stages do not divide alike."""
    total, so_far, cuts = sum(site.nodes for site in sites), 0, []
    for site in sites[:-1]:
        so_far += site.nodes
        if so_far * num_stages % total:
            return ()
        cuts.append(so_far * num_stages // total)
    ends = [0, *cuts, num_stages]
    return tuple(cuts) if all(b > a for a, b in pairwise(ends)) else ()


def cut_case(
    scenario: Scenario, step: Step, model: Model, walk: SiteWalk, *, num_gpus: int
) -> CutCase:
    """Return the job's case."""
    parallel, training = scenario.job.parallel, scenario.job.trained
    pipeline, practice = step.pipeline, step.practice
    in_order = sorted(scenario.sites, key=lambda site: walk.order.index(site.name))
    num_sites = len(in_order)
    ranks = parallel.tensor * parallel.context * parallel.pipeline
    copies = max(1, num_gpus // ranks)
    exposed_s = float(step.exposed_s[Axis.DATA])
    inside_s = float(step.communication_s[Axis.DATA])
    stages = pipeline.stages
    last_s = float(max(stage.backward_s for stage in stages))
    overlaps = practice.overlaps_data
    hidden_s = max(inside_s - exposed_s, last_s * (1 - 1 / scenario.job.sync.chunks) * overlaps)
    trained = _crosses_with_weights(scenario, copies)
    tokens = training.sequence * training.micro_batch
    return CutCase(
        one_site_s=float(step.duration_s),
        forward_s=tuple(float(stage.forward_s) for stage in stages),
        backward_s=tuple(float(stage.backward_s) for stage in stages),
        pipeline_s=_pipeline_s(step),
        num_micro_batches=pipeline.num_micro_batches,
        accumulation=pipeline.accumulation,
        inside_s=inside_s,
        inside_exposed_s=exposed_s,
        hidden_s=0.0 if trained else hidden_s,
        volume_bytes=model.parameters * practice.weights.gradient_bytes_of(training.precision),
        unhidden_bytes=2 * BF16_BYTES * model.parameters if trained else 0.0,
        activation_bytes=BF16_BYTES * tokens * model.hidden * copies,
        batch_memory_bytes=float(step.memory.activations_bytes)
        / max(1, min(pipeline.num_micro_batches // pipeline.accumulation, len(stages))),
        free_memory_bytes=float(
            step.memory.capacity_bytes - step.memory.reserved_bytes - step.memory.total_bytes
        ),
        parameters=model.parameters,
        num_sites=num_sites,
        shape=walk.shape,
        hops=2 * (num_sites - 1),
        whole_copies=_whole_copies(scenario, num_gpus),
        cuts=stages_before(in_order, len(stages)) if walk.in_line else (),
        rate_bps=walk.rate_bps,
        delay_s=walk.longest.latency.total_s,
        sync=scenario.job.sync,
    )


def whole_gpus(parallel: Parallel) -> int:
    """Return the GPUs of which a site must hold a multiple, so that data alone crosses.

    A copy of the model, and every stage's group of experts, which lies over several copies.
    """
    experts = parallel.pipeline * parallel.expert * (parallel.expert_tensor or 1)
    return math.lcm(parallel.tensor * parallel.context * parallel.pipeline, experts)


def _whole_copies(scenario: Scenario, num_gpus: int) -> bool:
    total = sum(site.nodes for site in scenario.sites)
    whole = whole_gpus(scenario.job.parallel)
    return all(site.nodes * num_gpus // total % whole == 0 for site in scenario.sites)


def _crosses_with_weights(scenario: Scenario, copies: int) -> bool:
    """Return whether ZeRO 3 divides weights over more ranks than the smallest site holds."""
    parallel = scenario.job.parallel
    if parallel.zero < 3:
        return False
    total = sum(site.nodes for site in scenario.sites)
    inside = copies * min(site.nodes for site in scenario.sites) / total
    return (parallel.zero_ranks or copies) > inside


def _pipeline_s(step: Step) -> float:
    """Return what the pipeline of the one-site step takes: all before its last exchange.

    What ZeRO 3 gathers in every pass is part of the passes.
    """
    return float(step.duration_s - step.optimizer_s - step.pipeline.after_s)
