"""What a job asks of the cut between its sites, taken from its step at one site."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Final

from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Scenario
    from netloom.spec.sites import SiteSpec, SyncSpec
    from netloom.step.across.exchange import AcrossShape
    from netloom.step.model import Step

__all__ = ["CutCase", "cut_case", "stages_before", "walk_of"]

BF16_BYTES: Final = 2
MAX_ORDERED: Final = 7  # sites whose every order is tried for a ring


@dataclass(frozen=True, slots=True, kw_only=True)
class CutCase:
    """A job over several sites.

    Attributes:
        one_site_s: Its step where all nodes stand at one site.
        forward_s: Of each pipeline stage, for one micro-batch.
        backward_s: The same, recomputation included.
        pipeline_s: Of the one-site step, what its pipeline takes.
        inside_s: All data-parallel communication at one site.
        inside_exposed_s: Of it, what nothing hides.
        hidden_s: Computation that an exchange of gradients can hide behind.
        volume_bytes: Gradients that data-parallel copies exchange in a step.
        unhidden_bytes: Weights that ZeRO 3 gathers over the cut, twice a step, hidden by nothing.
        activation_bytes: Over a cut for one micro-batch of every pipeline, one direction.
        batch_memory_bytes: What one more micro-batch in flight takes of a GPU.
        free_memory_bytes: What a GPU has left.
        cuts: Stages before each crossing, where the pipeline is laid over the sites.
        rate_bps: Payload of the slowest span on the way, one direction.
        delay_s: Of the longest span on the way, one way.
        hops: Delays on the critical path of an all-reduce across.
    """

    one_site_s: float
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    pipeline_s: float
    num_micro_batches: int
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
    cuts: tuple[int, ...]
    rate_bps: float
    delay_s: float
    sync: SyncSpec

    @property
    def turn_s(self) -> float:
        """Of the slowest stage: both passes of one micro-batch."""
        return max(f + b for f, b in zip(self.forward_s, self.backward_s, strict=True))


def walk_of(scenario: Scenario) -> tuple[tuple[str, ...], AcrossShape]:
    """Return the sites in the order of an exchange, and whether that closes to a ring.

    Where no ring passes every site once, the exchange goes up and down a tree.
    """
    names = [site.name for site in scenario.sites]
    joined = {frozenset(span.between) for span in scenario.spans}
    if len(names) == 2:
        return tuple(names), "ring"
    if len(names) > MAX_ORDERED:
        ring = all(frozenset(pair) in joined for pair in pairwise([*names, names[0]]))
        return tuple(names), "ring" if ring else "tree"
    for order in permutations(names[1:]):
        around = [names[0], *order, names[0]]
        if all(frozenset(pair) in joined for pair in pairwise(around)):
            return tuple(around[:-1]), "ring"
    return tuple(names), "tree"


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
    scenario: Scenario, step: Step, model: Model, spans: Sequence[BuiltSpan], *, num_gpus: int
) -> CutCase:
    """Return the job's case."""
    parallel, training = scenario.job.parallel, scenario.job.trained
    pipeline, practice = step.pipeline, step.practice
    _, shape = walk_of(scenario)
    num_sites = len(scenario.sites)
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
        inside_s=inside_s,
        inside_exposed_s=exposed_s,
        hidden_s=0.0 if trained else hidden_s,
        volume_bytes=model.parameters * practice.weights.gradient_bytes_of(training.precision),
        unhidden_bytes=2 * BF16_BYTES * model.parameters if trained else 0.0,
        activation_bytes=BF16_BYTES * tokens * model.hidden * copies,
        batch_memory_bytes=float(step.memory.activations_bytes)
        / max(1, min(pipeline.num_micro_batches, len(stages))),
        free_memory_bytes=float(
            step.memory.capacity_bytes - step.memory.reserved_bytes - step.memory.total_bytes
        ),
        parameters=model.parameters,
        num_sites=num_sites,
        shape=shape,
        hops=2 * (num_sites - 1),
        cuts=stages_before(scenario.sites, len(stages)),
        rate_bps=min(span.payload_bps for span in spans),
        delay_s=max(span.latency.total_s for span in spans),
        sync=scenario.job.sync,
    )


def _crosses_with_weights(scenario: Scenario, copies: int) -> bool:
    """Return whether ZeRO 3 divides weights over more ranks than the smallest site holds."""
    parallel = scenario.job.parallel
    if parallel.zero < 3:
        return False
    total = sum(site.nodes for site in scenario.sites)
    inside = copies * min(site.nodes for site in scenario.sites) / total
    return (parallel.zero_ranks or copies) > inside


def _pipeline_s(step: Step) -> float:
    """Return what the pipeline of the one-site step takes: all but exchanges and the update."""
    return float(step.duration_s - step.optimizer_s - step.exposed_s[Axis.DATA])
