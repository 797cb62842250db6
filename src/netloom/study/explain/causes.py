"""What explains the difference between a recorded step and its prediction.

Each function looks for the signature of one cause and returns what removing it is worth in a step.
A cause is named only where it is worth :data:`LEAST_SHARE` of the step: predictions of single
phases are no closer than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.study.explain.phases import (
    ATTENTION,
    DATA,
    HOST,
    IDLE,
    MEMORY,
    OPTIMIZER,
    PRODUCTS,
    exposed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from netloom.spec.scenario import Recompute
    from netloom.study.explain.logged import LoggedSteps
    from netloom.study.explain.phases import RecordedStep
    from netloom.study.explain.rates import CollectiveRate
    from netloom.workload.collective import Axis

__all__ = ["Cause", "StepEvidence", "causes_of", "logged_causes"]

LEAST_SHARE: Final = 0.02
SLOW_RANK: Final = 1.05  # ranks of a sound job differ by 1 to 2 % (step/schedule.py, JITTER)
SLOW_GPU: Final = 1.15  # beyond the error of operators on a GPU that was measured (docs/models)
SLOW_COLLECTIVE: Final = 1.5  # beyond the bound of collectives of 1 MiB and more
NOT_HIDDEN: Final = 2.0
RECOMPUTED: Final = 1.5  # forward passes of attention for each backward pass; 1 or 2 in fact
UNFUSED: Final = 1.5
SLOW_UPDATE: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that makes the step longer than predicted.

    Attributes:
        name: In a word, for programs.
        what: What is seen, with its figures.
        remedy: What to look at or to change.
        worth_s: By how much a step is shorter without it.
    """

    name: str
    what: str
    remedy: str
    worth_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvidence:
    """What was recorded and what was predicted.

    Attributes:
        ranks: One step of each recorded rank.
        step: The rank whose step is explained: the median in computation.
        predicted_s: By phase.
        predicted_communication_s: By axis, hidden or not.
        recompute: What the scenario says is computed twice.
        recompute_s: How much longer the predicted step is with whole layers computed twice.
        rates: The recorded collectives beside their prediction.
    """

    ranks: Sequence[RecordedStep]
    step: RecordedStep
    predicted_s: Mapping[str, float]
    predicted_communication_s: Mapping[Axis, float]
    recompute: Recompute
    recompute_s: float
    rates: Sequence[CollectiveRate]

    def ratio(self, phase: str) -> float:
        """Return what was recorded of a phase over what was predicted; 1 where one is nothing."""
        recorded_s, predicted_s = self.step.phases_s[phase], self.predicted_s[phase]
        return recorded_s / predicted_s if recorded_s > 0 and predicted_s > 0 else 1.0

    def excess_s(self, phase: str) -> float:
        """Return by how much a phase is longer than predicted."""
        return self.step.phases_s.get(phase, 0.0) - self.predicted_s.get(phase, 0.0)


def causes_of(evidence: StepEvidence) -> tuple[Cause, ...]:
    """Return what explains the difference, worth most first."""
    found = [cause for look in _LOOKS for cause in look(evidence)]
    least_s = LEAST_SHARE * evidence.step.duration_s
    return tuple(
        sorted((one for one in found if one.worth_s >= least_s), key=lambda one: -one.worth_s)
    )


def _slow_rank(seen: StepEvidence) -> Iterator[Cause]:
    """A rank that computes longer than the others: they wait for it in every collective."""
    if len(seen.ranks) < 2:
        return
    slowest = max(seen.ranks, key=lambda one: one.compute_s)
    others_s = median(one.compute_s for one in seen.ranks if one is not slowest)
    if slowest.compute_s > SLOW_RANK * others_s:
        yield _slow(slowest.rank, slowest.compute_s, others_s)


def logged_causes(log: LoggedSteps, stage_gpus: int) -> tuple[Cause, ...]:
    """Return the rank whose passes are longer than those of its pipeline stage, if a log says so.

    Args:
        log: What was logged, rank by rank.
        stage_gpus: Ranks of a pipeline stage, which have the same work.
    """
    passes = [log.timers[name].ranks_s for name in _PASSES if name in log.timers]
    ranks = set.intersection(*(set(one) for one in passes)) if passes else set()
    total_s = {rank: sum(one[rank] for one in passes) for rank in ranks}
    found = []
    for stage in {rank // stage_gpus for rank in ranks}:
        own = {rank: s for rank, s in total_s.items() if rank // stage_gpus == stage}
        slowest = max(own, key=own.__getitem__)
        others = [time_s for rank, time_s in own.items() if rank != slowest]
        if others and own[slowest] > SLOW_RANK * median(others):
            found.append(_slow(slowest, own[slowest], median(others)))
    return tuple(sorted(found, key=lambda one: -one.worth_s))


_PASSES: Final = ("forward-compute", "backward-compute")


def _slow(rank: int, time_s: float, others_s: float) -> Cause:
    return Cause(
        name="slow-rank",
        what=f"rank {rank} computes {1e3 * time_s:.1f} ms a step, the others {1e3 * others_s:.1f}",
        remedy="look at that GPU's clock, temperature and ECC counts, at its share of the "
        "tokens, and exchange it",
        worth_s=time_s - others_s,
    )


def _common(seen: StepEvidence) -> float:
    """Return by how much every kind of kernel is slower at least."""
    return min(seen.ratio(phase) for phase in (PRODUCTS, ATTENTION, MEMORY))


def _slow_gpu(seen: StepEvidence) -> Iterator[Cause]:
    common = _common(seen)
    if common > SLOW_GPU:
        yield Cause(
            name="slow-gpu",
            what=f"every kind of kernel takes at least {common:.2f} times as long as predicted",
            remedy="read the GPU's clock and why it is held down (nvidia-smi -q -d PERFORMANCE: "
            "power cap, heat), and whether another process shares it",
            worth_s=seen.step.compute_s * (1 - 1 / common),
        )


def _recomputation(seen: StepEvidence) -> Iterator[Cause]:
    forward, backward = seen.step.forward_attentions, seen.step.backward_attentions
    if not backward or forward / backward < RECOMPUTED:
        return
    if seen.recompute in {"full", "selective"}:
        return
    yield Cause(
        name="recomputation",
        what=f"attention runs forward {forward:.0f} times for {backward:.0f} backward: layers are "
        f"computed twice, the scenario says recompute: {seen.recompute}",
        remedy="recompute less where memory allows it, or say so in job.training.recompute",
        worth_s=seen.recompute_s,
    )


def _unfused(seen: StepEvidence) -> Iterator[Cause]:
    factor = seen.ratio(MEMORY) / max(1.0, _common(seen))
    if factor > UNFUSED:
        yield Cause(
            name="unfused-kernels",
            what=f"memory-bound kernels take {seen.ratio(MEMORY):.1f} times as long as predicted",
            remedy="fuse them (torch.compile, Transformer Engine, Apex), or name software that "
            "does not in job.software",
            worth_s=seen.step.phases_s[MEMORY] * (1 - 1 / factor),
        )


def _optimizer(seen: StepEvidence) -> Iterator[Cause]:
    factor = seen.ratio(OPTIMIZER) / max(1.0, _common(seen))
    if factor > SLOW_UPDATE:
        yield Cause(
            name="slow-optimizer",
            what=f"the weight update takes {seen.ratio(OPTIMIZER):.1f} times as long as predicted",
            remedy="use a fused optimizer, and shard its state over the data-parallel ranks",
            worth_s=seen.step.phases_s[OPTIMIZER] * (1 - 1 / factor),
        )


def _waiting(phase: str, name: str, what: str, remedy: str) -> Callable[..., Iterator[Cause]]:
    def look(seen: StepEvidence) -> Iterator[Cause]:
        worth_s = seen.excess_s(phase)
        if worth_s > 0:
            share = seen.step.phases_s[phase] / seen.step.duration_s
            said = f"the GPU is idle {share:.0%} of the step {what}"
            yield Cause(name=name, what=said, remedy=remedy, worth_s=worth_s)

    return look


def _slow_collectives(seen: StepEvidence) -> Iterator[Cause]:
    """Collectives that take longer than this network needs, even for the rank that came last."""
    for one in seen.rates:
        if one.ratio > SLOW_COLLECTIVE:
            yield Cause(
                name="slow-collective",
                what=f"{one.operation} of {one.size_bytes / 2**20:.1f} MiB over {one.num_ranks} "
                f"ranks takes {1e3 * one.recorded_s:.2f} ms, predicted "
                f"{1e3 * one.predicted_s:.2f}: {1 / one.ratio:.0%} of its rate",
                remedy="run nccl-tests of that size on these nodes and give its output to "
                "'netloom expect --against'",
                worth_s=one.exposed_s * (1 - 1 / one.ratio),
            )


def _not_hidden(seen: StepEvidence) -> Iterator[Cause]:
    """Communication that is as fast as predicted but does not run beside computation."""
    for axis, recorded_s in seen.step.communication_s.items():
        predicted_s = seen.predicted_communication_s.get(axis, 0.0)
        shown_s = seen.step.phases_s.get(exposed(axis), 0.0)
        expected_s = seen.predicted_s.get(exposed(axis), 0.0)
        as_fast = predicted_s and recorded_s < SLOW_COLLECTIVE * predicted_s
        if as_fast and shown_s > NOT_HIDDEN * expected_s:
            yield Cause(
                name="no-overlap",
                what=f"{axis.value} communication is as fast as predicted, but "
                f"{1e3 * shown_s:.1f} ms of it are exposed for {1e3 * expected_s:.1f} predicted",
                remedy="turn its overlap on in the training software, and look for a host "
                "synchronisation before it",
                worth_s=shown_s - expected_s,
            )


_LOOKS: Final = (
    _slow_rank,
    _slow_gpu,
    _recomputation,
    _unfused,
    _optimizer,
    _slow_collectives,
    _not_hidden,
    _waiting(
        DATA,
        "slow-data",
        "for the next batch",
        "load ahead (more workers, pinned memory), and look at the storage",
    ),
    _waiting(
        HOST,
        "launch-bound",
        "because the host had not launched the next kernel",
        "use CUDA graphs or torch.compile, larger micro-batches, and pin the process to its cores",
    ),
    _waiting(
        IDLE,
        "idle",
        "with work handed over",
        "look for synchronisations (.item(), .cpu(), stream waits) and garbage collection",
    ),
)
