"""What one step of a job sends, as transfers: each distinct collective of it once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError
from netloom.step.software import practice_for
from netloom.workload import exchange
from netloom.workload.collective import Axis
from netloom.workload.collective_entry import ExchangePlan, collective_entry
from netloom.workload.dag import Dag, Label, beside, then, to_transfers
from netloom.workload.demand import demand
from netloom.workload.placement import check_model, check_router, layout, num_micro_batches
from netloom.workload.sharding import SUMMED_OVER_COPIES
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Job
    from netloom.workload.collective import CollectiveKind
    from netloom.workload.communication import Communication
    from netloom.workload.placement import Layout
    from netloom.workload.transfers import Transfers

__all__ = [
    "StepTraffic",
    "collective_dag",
    "messages_of",
    "step_communications",
    "step_traffic",
]

MAX_TRANSFERS: Final = 5_000_000  # 3 GB of the core's books


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTraffic:
    """The collectives of a step, one after another, all groups of each at once.

    Attributes:
        jobs: What each is called, and how often a step runs it.
        dags: Its messages.
    """

    jobs: tuple[str, ...]
    dags: tuple[Dag, ...]

    def transfers(self, rng: np.random.Generator) -> Transfers:
        """Return all of them; each collective begins on a GPU when the one before it has ended."""
        whole = reduce(then, self.dags)
        label = np.repeat(np.arange(len(self.dags)), [len(dag) for dag in self.dags])
        found = to_transfers([whole], [Label(priority=3)], rng=rng)
        return replace(found, job=label.astype(np.int32))


def step_traffic(job: Job, *, model: Model, network: Network) -> StepTraffic:
    """Return what a step of *job* sends on all GPUs of *network*.

    Rings run on as many channels as a group has members in a node, so that each NIC carries its
    share.

    Raises:
        SpecError: the parallelism does not multiply out, or the job sends nothing.
        InfeasibleError: the messages are too many for packets.
    """
    distinct, plan = step_communications(job, model=model, network=network)
    _check_size(distinct, network.design.num_gpus)
    return StepTraffic(
        jobs=tuple(_name(item) for item in distinct),
        dags=tuple(collective_dag(item, plan) for item in distinct),
    )


def step_communications(
    job: Job, *, model: Model, network: Network
) -> tuple[list[Communication], Layout]:
    """Return each distinct collective of a step with how often it runs, and who is where.

    Raises:
        SpecError: the parallelism does not multiply out.
        InfeasibleError: the job sends nothing.
    """
    num_gpus = network.design.num_gpus
    plan = layout(job.parallel, node=network.node, num_gpus=num_gpus, placement=job.placement)
    check_model(model, plan)
    check_router(model, job.trained)
    batches = num_micro_batches(job.trained, plan)
    software = practice_for(job, network.gpu)
    asked = demand(
        transformer(model),
        plan,
        job.trained,
        num_micro_batches=batches,
        weights=software.weights,
        modules=software.recompute_modules,
        repeats_keys=software.repeats_keys,
    )
    distinct = _distinct(asked.communications)
    if not distinct:
        raise InfeasibleError(
            key="job",
            what="it runs on one GPU and sends nothing",
            remedy="there is nothing to simulate",
        )
    return distinct, plan


def _distinct(items: Sequence[Communication]) -> list[Communication]:
    """Return one of those that look alike on the wire, with their counts added up."""
    found: dict[tuple[Axis, object], Communication] = {}
    for item in items:
        key = (item.axis, item.collective)
        before = found.get(key)
        found[key] = item if before is None else replace(before, count=before.count + item.count)
    return list(found.values())


def _name(item: Communication) -> str:
    kind = item.collective.kind.value.replace("_", "-")
    return f"{item.axis.value} {kind} x {item.count:,}"


def _check_size(items: Sequence[Communication], num_gpus: int) -> None:
    count = sum(
        2 * num_gpus * item.collective.group.size * item.collective.group.per_node for item in items
    )
    if count > MAX_TRANSFERS:
        raise InfeasibleError(
            key="job",
            what=(
                f"a step of {num_gpus:,} GPUs is up to {count:,} messages, and packets are "
                f"for {MAX_TRANSFERS:,} at most"
            ),
            remedy="use 'netloom predict', or a smaller cluster",
        )


def collective_dag(item: Communication, plan: Layout) -> Dag:
    """Return the messages of a collective, all its groups at once."""
    ranks = np.arange(plan.num_gpus, dtype=np.int64)
    if item.axis is Axis.PIPELINE:
        size_bytes = max(1, round(item.collective.size_bytes))
        return exchange.send_recv(ranks[: -plan.stage_gpus], ranks[plan.stage_gpus :], size_bytes)
    return messages_of(item, plan, ranks)


def messages_of(item: Communication, plan: Layout, ranks: NDArray[np.int64]) -> Dag:
    """Return *item* in every group of *ranks*, which are whole groups in order; no pipeline hop."""
    size_bytes = max(1, round(item.collective.size_bytes))
    size = item.collective.group.size
    grid = ranks.reshape(-1, size, _stride(item, plan))
    groups = [grid[row, :, column] for row in range(len(grid)) for column in range(grid.shape[2])]
    return beside([_one(item.collective.kind, group, size_bytes, plan) for group in groups])


def _stride(item: Communication, plan: Layout) -> int:
    """Return the ranks from one member to the next, as :mod:`netloom.workload.placement` has it."""
    if item.axis is Axis.CONTEXT:
        return plan.tensor
    if item.axis is Axis.DATA and SUMMED_OVER_COPIES in item.purpose:
        return plan.tensor * plan.zero_ranks
    if item.axis is Axis.DATA and (plan.zero_ranks or plan.zero_backward_ranks):
        return plan.tensor
    if item.axis is Axis.DATA:
        return plan.tensor if item.collective.group.size == plan.replicas else plan.expert_ranks
    if item.axis is Axis.EXPERT and item.collective.group.size == plan.expert:
        return plan.expert_split
    return 1


def _one(kind: CollectiveKind, group: NDArray[np.int64], size_bytes: int, plan: Layout) -> Dag:
    size_bytes = max(size_bytes, len(group) ** 2)
    rings = partial(_orders, group, plan)
    return collective_entry(kind).transfers(
        ExchangePlan(group=group, size_bytes=size_bytes, orders=rings)
    )


def _orders(group: NDArray[np.int64], plan: Layout) -> list[NDArray[np.int64]]:
    first = np.flatnonzero(np.diff(group // plan.gpus_per_node, prepend=-1))
    nodes = np.split(group, first[1:])
    if len({len(members) for members in nodes}) > 1:
        return [group]
    return exchange.rail_rings(nodes, len(nodes[0]))
