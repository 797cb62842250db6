"""A stretch of a step in which its classes meet on the network, small enough for packets.

Rounds of what computation waits for (pipeline, experts, parameters), each after the computation
that a step has between two of them; and beside them their share of what it does not wait for
(gradients). Sizes and computation are scaled down alike, so that shares of time stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError
from netloom.study.simulate.step_traffic import collective_dag
from netloom.workload.dag import Dag, Label, beside, then, to_transfers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.step.model import Step
    from netloom.study.tune.stages.classes import StageClass
    from netloom.workload.communication import Communication
    from netloom.workload.placement import Layout
    from netloom.workload.transfers import Transfers

__all__ = ["ServiceLevels", "StageWindow", "stage_window"]

ROUNDS: Final = 4
SENT_BYTES: Final = 4 << 20  # by a GPU in a window, about
ONE_LEVEL: Final = 3
MAX_LEVEL: Final = 6  # 7 is the control plane's
LEAST_BYTES: Final = 4096
_PS: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevels:
    """How classes are served.

    Attributes:
        name: Such as ``one class`` or ``pipeline > expert > data``.
        level: Of each class, 1 to 6; the higher goes first.
        weights: Shares of a link by level; empty for strict order.
        slices: Pieces that each class's messages are cut into; 1 where it is not named.
        qps: Connections beside the technology's own, by class; 1 where it is not named.
    """

    name: str
    level: Mapping[str, int]
    weights: Mapping[int, float]
    slices: Mapping[str, int]
    qps: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageWindow:
    """The window.

    Attributes:
        chain: One collective of each class that computation waits for.
        order: In which they come, one after another.
        bulk: One dag a class that it does not wait for.
        compute_ps: Before each collective of the chain.
        scale: Of sizes and computation.
        share: Of a step that the window stands for.
    """

    chain: Mapping[str, Dag]
    order: tuple[str, ...]
    bulk: Mapping[str, Dag]
    compute_ps: int
    scale: float
    share: float

    def transfers(self, levels: ServiceLevels, rng: np.random.Generator) -> Transfers:
        """Return what is sent, each class with its priority; job numbers are classes in order."""
        names = (*self.chain, *self.bulk)
        parts = {
            name: _cut(dag, levels.slices.get(name, 1), levels.qps.get(name, 1))
            for name, dag in {**self.chain, **self.bulk}.items()
        }
        dags, level, job = [], [], []
        if self.chain:
            order = self.order
            delayed = [parts[name] for name in order]
            line = reduce(lambda done, more: then(done, more, delay_ps=self.compute_ps), delayed)
            dags.append(line)
            sizes = [len(dag) for dag in delayed]
            level += [np.repeat([levels.level[name] for name in order], sizes)]
            job += [np.repeat([names.index(name) for name in order], sizes)]
        for name in self.bulk:
            dags.append(parts[name])
            level.append(np.full(len(parts[name]), levels.level[name]))
            job.append(np.full(len(parts[name]), names.index(name)))
        whole = to_transfers([beside(dags)], [Label(priority=ONE_LEVEL)], rng=rng)
        return replace(
            whole,
            priority=np.concatenate(level).astype(np.uint8),
            job=np.concatenate(job).astype(np.int32),
        )


def stage_window(
    classes: Sequence[StageClass], plan: Layout, step: Step, *, length: float = 1.0
) -> StageWindow:
    """Return the window of a step's *classes*.

    Args:
        classes: What leaves nodes.
        plan: Who is where.
        step: Whose computation lies between the collectives.
        length: Share of the usual bytes.

    Raises:
        InfeasibleError: nothing leaves a node.
    """
    chain = [one for one in classes if not one.is_bulk]
    bulk = [one for one in classes if one.is_bulk]
    if not classes:
        raise InfeasibleError(
            key="job", what="no class of its traffic leaves a node", remedy="use more nodes"
        )
    rounds_a_step = max((one.count for one in chain), default=ROUNDS)
    rounds = min(ROUNDS, rounds_a_step) if chain else 1
    share = rounds / rounds_a_step
    heaviest = {one.name: _heaviest(one) for one in classes}
    sent = sum(share * one.count * heaviest[one.name].collective.size_bytes for one in classes)
    scale = min(1.0, length * SENT_BYTES / max(sent, 1.0))
    times = {one.name: max(1, round(share * one.count)) for one in chain}
    order = tuple(
        one.name
        for turn in range(rounds)
        for one in chain
        if (turn + 1) * times[one.name] // rounds > turn * times[one.name] // rounds
    )
    between_s = step.compute_s * share / max(len(order), 1)
    return StageWindow(
        chain={
            one.name: collective_dag(
                _resized(heaviest[one.name], scale * share * one.count / times[one.name]), plan
            )
            for one in chain
        },
        order=order,
        bulk={
            one.name: collective_dag(_resized(heaviest[one.name], scale * share * one.count), plan)
            for one in bulk
        },
        compute_ps=round(between_s * scale * _PS),
        scale=scale,
        share=share,
    )


def _heaviest(one: StageClass) -> Communication:
    """Return the collective that carries most of a class's bytes, sized as their mean."""
    found = max(one.items, key=lambda item: item.size_bytes)
    mean = sum(item.size_bytes for item in one.items) / max(one.count, 1)
    return replace(found, collective=replace(found.collective, size_bytes=mean))


def _resized(item: Communication, times: float) -> Communication:
    size = max(item.collective.size_bytes * times, float(LEAST_BYTES))
    return replace(item, collective=replace(item.collective, size_bytes=size))


def _cut(dag: Dag, slices: int, qps: int) -> Dag:
    """Return *dag* with each message in pieces, on that number of connections in turn.

    What waited for a message waits for all its pieces.
    """
    pieces = max(slices, qps)
    if pieces == 1:
        return dag
    turn = np.tile(np.arange(pieces), len(dag))
    message = np.repeat(np.arange(len(dag)), pieces)
    whole = dag.size_bytes[message]
    size = np.maximum(1, whole * (turn + 1) // pieces - whole * turn // pieces)
    waiter = (dag.waiter[:, None, None] * pieces + np.arange(pieces)[None, :, None]) + np.zeros(
        (1, 1, pieces), dtype=np.int64
    )
    waited = (dag.waited[:, None, None] * pieces + np.arange(pieces)[None, None, :]) + np.zeros(
        (1, pieces, 1), dtype=np.int64
    )
    return replace(
        dag,
        source=dag.source[message],
        target=dag.target[message],
        size_bytes=size,
        connection=dag.connection[message] * qps + turn % qps,
        start_ps=dag.start_ps[message],
        delay_ps=dag.delay_ps[message],
        waiter=waiter.ravel(),
        waited=waited.ravel(),
    )
