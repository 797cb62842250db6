"""Which kinds of operators a stage's computation is made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from netloom.step.stages import stage_kinds
from netloom.workload.demand import shard_of
from netloom.workload.flops import embedding_operators, head_operators, layer_operators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from netloom.compute.roofline import Costs
    from netloom.spec.scenario import Recompute, Training
    from netloom.step.stages import OperatorTimes, StageKind
    from netloom.workload.flops import Operator, OperatorKind, Shard
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["kind_shares"]


def kind_shares(
    shape: Transformer, plan: Layout, training: Training, clock: OperatorTimes
) -> dict[OperatorKind, float]:
    """Return the share of each kind of operator in the computation of the longest stage."""
    shard = clock.practice.on(shard_of(plan, training))
    stages = [
        _stage(shape, shard, kind, clock, training.recompute)
        for kind in dict.fromkeys(stage_kinds(shape, plan.pipeline))
    ]
    longest = max(stages, key=lambda one: sum(one.values()))
    whole_s = sum(longest.values())
    return {kind: time_s / whole_s for kind, time_s in longest.items()}


def _stage(
    shape: Transformer,
    shard: Shard,
    kind: StageKind,
    clock: OperatorTimes,
    recompute: Recompute,
) -> dict[OperatorKind, float]:
    """Return how long each kind of operator takes in a stage, with one micro-batch."""
    times_s: dict[OperatorKind, float] = {}
    for count, moe in ((kind.num_dense, False), (kind.num_moe, True)):
        if count:
            costs = partial(clock.layer_costs, recompute=recompute)
            _add(times_s, layer_operators(shape, shard, moe=moe), costs, count)
    if kind.is_first:
        _add(times_s, embedding_operators(shape, shard), partial(clock.costs, recompute="none"), 1)
    if kind.is_last:
        head_costs = partial(clock.in_16_bits().costs, recompute="none")
        _add(times_s, head_operators(shape, shard), head_costs, 1)
    return times_s


def _add(
    times_s: dict[OperatorKind, float],
    operators: Iterable[Operator],
    costs: Callable[[Iterable[Operator]], Costs],
    count: int,
) -> None:
    for kind, alike in _by_kind(operators):
        times_s[kind] = times_s.get(kind, 0.0) + count * costs(alike).total_s


def _by_kind(operators: Iterable[Operator]) -> Iterator[tuple[OperatorKind, list[Operator]]]:
    kinds: dict[OperatorKind, list[Operator]] = {}
    for one in operators:
        kinds.setdefault(one.kind, []).append(one)
    yield from kinds.items()
