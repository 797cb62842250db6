"""A scenario's step as execution traces, one graph a rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.study.inputs import catalog_of, model_of
from netloom.study.predict.prediction import predict
from netloom.study.trace.graph import StageWork, rank_nodes
from netloom.study.trace.groups import RankGroups, all_groups
from netloom.workload.demand import demand
from netloom.workload.placement import layout, num_micro_batches, stage_layers
from netloom.workload.sharding import stage_dense_layers
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.predict.prediction import Prediction
    from netloom.workload.placement import Layout
    from netloom.workload.trace import TraceNode
    from netloom.workload.transformer import Transformer

__all__ = ["MAX_RANKS", "MAX_RANK_NODES", "MAX_TOTAL_NODES", "StepTraces", "step_traces"]

# About 100 bytes and 10 microseconds of writing a node: a few gigabytes and minutes at most.
MAX_RANK_NODES: Final = 1_000_000
MAX_TOTAL_NODES: Final = 20_000_000
MAX_RANKS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTraces:
    """One step, to be written rank by rank.

    Attributes:
        num_ranks: How many ranks are written, from rank 0.
        stages: What each pipeline stage does, first to last.
    """

    prediction: Prediction
    plan: Layout
    num_ranks: int
    stages: tuple[StageWork, ...]

    def nodes(self, rank: int) -> Iterator[TraceNode]:
        """Yield what *rank* does, each node after those it depends on."""
        pipeline = self.prediction.step.pipeline
        num_places = self.plan.pipeline * self.plan.virtual_pipeline
        groups = RankGroups(
            plan=self.plan,
            rank=rank,
            num_hop_tags=2 * num_places * pipeline.num_micro_batches,
        )
        return rank_nodes(self.stages[groups.stage], groups)

    def groups(self) -> dict[str, tuple[int, ...]]:
        """Return the ranks of every group of the job, by the name that traces use."""
        return all_groups(self.plan)

    def most_nodes(self) -> int:
        """Return an upper bound of the nodes of all ranks together."""
        each = self.plan.stage_gpus
        shares = (
            max(0, min(each, self.num_ranks - work.stage * each)) * work.num_nodes()
            for work in self.stages
        )
        return sum(shares)


def step_traces(
    scenario: Scenario, catalog: Catalog | None = None, *, num_ranks: int | None = None
) -> StepTraces:
    """Return the step of *scenario* as it is predicted on its own technology.

    Args:
        scenario: What was asked for.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        num_ranks: How many ranks to write, from rank 0; default: all.

    Raises:
        NetloomError: as :func:`netloom.study.predict.prediction.predict`.
        SpecError: more ranks than the job has.
        InfeasibleError: more ranks or nodes than are written.
    """
    parts = catalog or catalog_of(scenario)
    prediction = predict(scenario, parts)
    job, network = scenario.job, prediction.network
    num_gpus = network.design.num_gpus
    plan = layout(job.parallel, node=network.node, num_gpus=num_gpus, placement=job.placement)
    asked = num_gpus if num_ranks is None else num_ranks
    if not 1 <= asked <= num_gpus:
        raise SpecError(
            option="--ranks",
            what=f"{asked:,} of a job with {num_gpus:,}",
            remedy=f"give 1 to {num_gpus:,}",
        )
    if asked > MAX_RANKS:
        raise InfeasibleError(
            what=f"{asked:,} ranks, but traces are written for {MAX_RANKS:,} at most",
            remedy="use --ranks",
        )
    shape = transformer(model_of(scenario, parts))
    traces = StepTraces(
        prediction=prediction,
        plan=plan,
        num_ranks=asked,
        stages=tuple(_work(prediction, shape, plan, stage=stage) for stage in range(plan.pipeline)),
    )
    _check_nodes(traces)
    return traces


def _check_nodes(traces: StepTraces) -> None:
    most = max(work.num_nodes() for work in traces.stages)
    if most > MAX_RANK_NODES:
        raise InfeasibleError(
            key="job.training.global_batch",
            what=f"a rank has up to {most:,} nodes, but at most {MAX_RANK_NODES:,} are written",
            remedy="use a smaller batch, since micro-batches repeat",
        )
    total = traces.most_nodes()
    if total > MAX_TOTAL_NODES:
        fitting = max(1, traces.num_ranks * MAX_TOTAL_NODES // total)
        raise InfeasibleError(
            what=(
                f"{traces.num_ranks:,} ranks have up to {total:,} nodes together, but "
                f"{MAX_TOTAL_NODES:,} are written at most"
            ),
            remedy=f"use --ranks {fitting}",
        )


def _work(prediction: Prediction, shape: Transformer, plan: Layout, *, stage: int) -> StageWork:
    training = prediction.scenario.job.trained
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    if counts[stage] == 0 and plan.zero > 1:
        raise InfeasibleError(
            key="job.parallel.zero",
            what=f"stage {stage} has no layers, and zero: {plan.zero} communicates by layer",
            remedy="use zero: 1 or fewer pipeline stages to write traces",
        )
    num_dense = stage_dense_layers(shape, counts, stage)
    return StageWork(
        stage=stage,
        pipeline=prediction.step.pipeline,
        demand=demand(
            shape,
            plan,
            training,
            num_micro_batches=num_micro_batches(training, plan),
            stage=stage,
            weights=prediction.step.practice.weights,
            modules=prediction.step.practice.recompute_modules,
            repeats_keys=prediction.step.practice.repeats_keys,
        ),
        chunks=_chunks(counts[stage], num_dense, plan.virtual_pipeline),
        optimizer_s=prediction.step.optimizer_s,
    )


def _chunks(num_layers: int, num_dense: int, num_chunks: int) -> tuple[tuple[bool, ...], ...]:
    """Return, for each chunk, whether each of its layers has experts: as even as possible."""
    layers = [index >= num_dense for index in range(num_layers)]
    ends = [num_layers * (chunk + 1) // num_chunks for chunk in range(num_chunks)]
    return tuple(tuple(layers[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True))
