"""The recorded collectives beside what the network needs for them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.study.explain.phases import axis_of, exposed
from netloom.workload.collective import Axis, Collective, CollectiveKind, Group
from netloom.workload.placement import Layout, axis_group, layout, pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.fabric.network import Network
    from netloom.spec.scenario import Job, Parallel
    from netloom.study.explain.phases import RecordedStep
    from netloom.study.explain.timeline import CollectiveCall, RankTimeline

__all__ = ["CollectiveRate", "rates_of"]

# NCCL's and PyTorch's buffers: an all-gather's input and a reduce-scatter's output are a share.
_WHOLE: Final = {CollectiveKind.ALL_GATHER}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRate:
    """Collectives of one kind, size and group.

    Attributes:
        num: How many in a step.
        recorded_s: The median call, each as the last rank to join it saw it.
        predicted_s: On this network, alone.
        exposed_s: What of them in a step no kernel runs beside.
    """

    operation: str
    size_bytes: int
    num_ranks: int
    num: float
    recorded_s: float
    predicted_s: float
    exposed_s: float

    @property
    def ratio(self) -> float:
        """Recorded over predicted."""
        return self.recorded_s / self.predicted_s


Key = tuple[Axis, str, int, int, int]


def rates_of(
    ranks: Sequence[RankTimeline], step: RecordedStep, job: Job, network: Network
) -> tuple[CollectiveRate, ...]:
    """Return the collectives whose size is recorded, beside their prediction on *network*."""
    first, parallel = ranks[0], job.parallel
    plan = layout(
        parallel, node=network.node, num_gpus=network.design.num_gpus, placement=job.placement
    )
    by_key: defaultdict[Key, list[float]] = defaultdict(list)
    for index, call in enumerate(first.collectives):
        if key := _key(call, parallel, network):
            by_key[key].append(_shortest_s(ranks, index, call))
    return tuple(_rates(by_key, len(first.steps), step, (network, plan)))


def _key(call: CollectiveCall, parallel: Parallel, network: Network) -> Key | None:
    num_ranks = call.num_ranks
    if call.operation.replace("-", "_") not in set(CollectiveKind):
        return None
    if not call.size_bytes or not 1 < num_ranks <= network.design.num_gpus:
        return None
    axis = axis_of(call, parallel)
    return axis, call.operation, call.size_bytes, num_ranks, call.rank_stride


def _shortest_s(ranks: Sequence[RankTimeline], index: int, call: CollectiveCall) -> float:
    """Return how long a call took for the rank that joined it last, among those recorded."""
    alike = [
        one.collectives[index]
        for one in ranks
        if index < len(one.collectives)
        and (one.collectives[index].operation, one.collectives[index].size_bytes)
        == (call.operation, call.size_bytes)
    ]
    return min(one.span.duration_s for one in alike)


def _rates(
    by_key: dict[Key, list[float]],
    num_steps: int,
    step: RecordedStep,
    where: tuple[Network, Layout],
) -> Iterator[CollectiveRate]:
    network, plan = where
    for (axis, operation, size_bytes, num_ranks, stride), each_s in by_key.items():
        group = _group(plan, axis, num_ranks, stride)
        total_s = step.communication_s.get(axis, 0.0)
        mine_s = sum(each_s) / num_steps
        shown_s = step.phases_s.get(exposed(axis), 0.0)
        yield CollectiveRate(
            operation=operation,
            size_bytes=size_bytes,
            num_ranks=num_ranks,
            num=len(each_s) / num_steps,
            recorded_s=median(each_s),
            predicted_s=_predicted_s(operation, size_bytes, group, network),
            exposed_s=shown_s * min(1.0, mine_s / total_s) if total_s else 0.0,
        )


def _group(plan: Layout, axis: Axis, num_ranks: int, stride: int) -> Group:
    """Return where a group's ranks sit: as recorded, else as the job's axis lays them out."""
    if stride:
        return plan.group(size=num_ranks, stride=stride)
    own = axis_group(plan, axis)
    return own if own.size == num_ranks else plan.group(size=num_ranks, stride=1)


def _predicted_s(operation: str, size_bytes: int, group: Group, network: Network) -> float:
    kind = CollectiveKind(operation.replace("-", "_"))
    whole = size_bytes * group.size if kind in _WHOLE else size_bytes
    group = pair(group) if kind is CollectiveKind.SEND_RECV else group
    asked = Collective(kind=kind, size_bytes=whole, group=group)
    return AnalyticEngine().run(asked, network).duration_s
