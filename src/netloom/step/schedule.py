"""One step in closed form: 1F1B, plain or interleaved, GPipe, ZB-H1, and what overlaps what.

For stage times t_i, m micro-batches and v virtual stages, the pipeline takes
``m t_max + (sum of the others) / v``: the slowest stage works through every micro-batch, and
the first and last of them cross the other stages once (Narayanan et al. 2021,
arXiv:2104.04473, section 2.2; with equal stages this is their t (m + (p - 1)/v)).

Times and counts may be numpy arrays that broadcast, one element a configuration: the search of
:mod:`netloom.study.plan.planning` then runs many steps through the very same lines. Nothing is
added in place, because arrays are shared.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from functools import reduce
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.provenance import Source
from netloom.step.timeline import PassTimes, Pipeline
from netloom.workload.collective import Axis
from netloom.workload.communication import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.compute.roofline import Costs
    from netloom.spec.scenario import PipelineOrder
    from netloom.step.practice import Practice
    from netloom.workload.collective import Collective
    from netloom.workload.communication import Communication, Phase

__all__ = [
    "Schedule",
    "StageTimes",
    "Traffic",
    "layer_exposed_s",
    "pipeline_of",
    "schedule",
    "slowest_of",
]

# Spread of equal ranks' compute time. Llama 3.1 70B bf16 on H100 takes 14.61 s on 64 GPUs and
# 14.84 on 2,048 with all else equal (NVIDIA/dgxc-benchmarking, rows nvidia_dgxc-0150 and
# -0155); the largest of 2,048 normal values lies 1.0 standard deviations over that of 64.
JITTER: Final = 0.015
JITTER_SOURCE: Final = Source(
    citation="NVIDIA/dgxc-benchmarking, Llama 3.1 70B on 64 and 2,048 H100", confidence="derived"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What a step communicates, how long each takes, and what the software overlaps."""

    communications: tuple[Communication, ...]
    durations_s: Mapping[Collective, float]
    practice: Practice

    def time_s(self, item: Communication) -> float:
        """Return how long *item* takes once, the host's part apart."""
        return self.durations_s[item.collective]

    def behind(self, window: Window) -> list[Communication]:
        """Return the communications that *window* can hide."""
        return [item for item in self.communications if item.window is window]

    def is_between_nodes(self, item: Communication) -> bool:
        """Return whether *item* needs the NICs."""
        return item.collective.group.num_nodes > 1

    def between_nodes_s(self) -> dict[Axis, float]:
        """Return how long the NICs send in a step, by axis."""
        sent = dict.fromkeys(Axis, 0.0)
        for item in self.communications:
            time_s = item.count * self.time_s(item) * self.is_between_nodes(item)
            sent[item.axis] = sent[item.axis] + time_s
        return sent

    def totals_s(self) -> dict[Axis, float]:
        """Return all communication of a step by axis, hidden or not."""
        totals = dict.fromkeys(Axis, 0.0)
        for item in self.communications:
            time_s = self.time_s(item) + item.host_s
            totals[item.axis] = totals[item.axis] + item.count * time_s
        return totals


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """One pipeline stage with one micro-batch.

    Attributes:
        costs: Its computation.
        exposed_s: Communication inside its layers that nothing hides.
        exposed_forward_s: Of it, what the forward pass waits for.
        host_s: What the GPU waits for the host to launch the next kernel.
        alike: How many stages in a row it stands for.
    """

    costs: Costs
    exposed_s: Mapping[Axis, float]
    exposed_forward_s: float = 0.0
    host_s: float = 0.0
    alike: int = 1

    @property
    def weights_s(self) -> float:
        """Gradients of the weights: one of the two products of each backward product."""
        return (self.costs.backward_s - self.costs.attention_backward_s) / 2

    @property
    def total_s(self) -> float:
        """From a micro-batch's arrival to its departure, both passes."""
        return self.costs.total_s + self.host_s + sum(self.exposed_s.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Where the time of one step goes, without the weight update.

    Attributes:
        slowdown: The slowest rank's compute time over the mean.
        after_s: Of the exposed data-parallel communication, what follows the last pass.
        host_s: The part of ``compute_s`` that the GPU waits for the host to launch.
    """

    compute_s: float
    host_s: float
    bubble_s: float
    exposed_s: Mapping[Axis, float]
    communication_s: Mapping[Axis, float]
    slowdown: float
    after_s: float


def slowest_of(num_ranks: int, sigma: float = JITTER) -> float:
    """Return the expected time of the slowest of *num_ranks* ranks over the mean.

    Blom's approximation of the largest of n normal values of standard deviation *sigma*.
    """
    if num_ranks == 1:
        return 1.0
    return 1.0 + sigma * NormalDist().inv_cdf((num_ranks - 0.375) / (num_ranks + 0.25))


def layer_exposed_s(
    traffic: Traffic, costs: Costs, *, moe: bool, only: Phase | None = None
) -> dict[Axis, float]:
    """Return, by axis, what no computation of one layer hides, one micro-batch.

    Args:
        traffic: Of the whole step.
        costs: Of the layer.
        moe: Whether the layer has experts.
        only: One pass instead of all.
    """
    waiting: dict[tuple[Axis, Window, Phase], float] = defaultdict(float)
    exposed: dict[Axis, float] = defaultdict(float)
    for item in traffic.communications:
        if item.per in {"layer", "moe-layer" if moe else "dense-layer"}:
            key = (item.axis, item.window, item.phase)
            waiting[key] = waiting[key] + item.each * traffic.time_s(item)
            if only in (None, item.phase):
                exposed[item.axis] = exposed[item.axis] + item.each * item.host_s
    for (axis, window, phase), time_s in waiting.items():
        if only not in (None, phase):
            continue
        open_s = _not_hidden_s(time_s, window, phase, costs, traffic.practice)
        exposed[axis] = exposed[axis] + open_s
    return dict(exposed)


def schedule(
    stages: Sequence[StageTimes],
    traffic: Traffic,
    *,
    num_micro_batches: int,
    virtual: int,
    slowdown: float = 1.0,
    order: PipelineOrder = "1f1b",
) -> Schedule:
    """Return where the time of one step goes.

    Args:
        stages: First to last.
        traffic: Of the whole step.
        num_micro_batches: Of one data-parallel rank.
        virtual: Virtual stages of each GPU.
        slowdown: The slowest rank's compute time over the mean.
        order: Of a stage's passes. GPipe idles as long as 1F1B; ZB-H1 fills what the weight
            gradients put off can fill (Qi et al. 2023, arXiv:2401.10241, Table 2).
    """
    slowest = reduce(_slower, stages)
    num_stages = sum(stage.alike for stage in stages)
    # Batches that are accumulated cross the pipeline one after another; only the last one's passes
    # hide the sum of the gradients.
    drains = np.minimum(traffic.practice.accumulation, num_micro_batches)
    # Each group of ranks has its own slowest: the slowest of all paces the micro-batches, and
    # the first and last of them cross the other stages at the mean.
    filled = 2.0 if order == "zero-bubble" else 0.0
    whole_s = sum(stage.alike * _crossing_s(stage, filled) for stage in stages)
    exposed = dict.fromkeys(Axis, 0.0)
    for axis, time_s in slowest.exposed_s.items():
        exposed[axis] = exposed[axis] + num_micro_batches * time_s
    filling_s, hops_s = _hops_s(
        traffic,
        slowest.costs,
        num_stages=num_stages,
        num_micro_batches=num_micro_batches / drains,
        virtual=virtual,
        drains=drains,
    )
    exposed[Axis.PIPELINE] = exposed[Axis.PIPELINE] + hops_s
    after_s = _data_exposed_s(
        traffic,
        slowest.costs,
        num_stages=num_stages,
        num_micro_batches=num_micro_batches / drains,
        virtual=virtual,
    )
    exposed[Axis.DATA] = exposed[Axis.DATA] + after_s
    communication = traffic.totals_s()
    communication[Axis.PIPELINE] = communication[Axis.PIPELINE] + filling_s
    compute_s = num_micro_batches * (slowest.costs.total_s * slowdown + slowest.host_s)
    bubble_s = drains * np.maximum(0.0, whole_s - _crossing_s(slowest, filled)) / virtual
    _wait_for_nics(exposed, compute_s + bubble_s, traffic.between_nodes_s())
    return Schedule(
        compute_s=compute_s,
        host_s=num_micro_batches * slowest.host_s,
        bubble_s=bubble_s,
        exposed_s=exposed,
        communication_s=communication,
        slowdown=slowdown,
        after_s=after_s,
    )


def _slower(one: StageTimes, other: StageTimes) -> StageTimes:
    """Return the stage that takes longer, element by element; *one* when they are equal."""
    longer = np.asarray(other.total_s > one.total_s)
    if longer.ndim == 0:
        return other if longer else one
    names = [field.name for field in fields(one.costs)]
    both = [(name, getattr(other.costs, name), getattr(one.costs, name)) for name in names]
    axes = dict.fromkeys((*one.exposed_s, *other.exposed_s))
    return StageTimes(
        costs=type(one.costs)(**{name: _chosen(longer, new, old) for name, new, old in both}),
        exposed_s={
            axis: _chosen(longer, other.exposed_s.get(axis, 0.0), one.exposed_s.get(axis, 0.0))
            for axis in axes
        },
        exposed_forward_s=_chosen(longer, other.exposed_forward_s, one.exposed_forward_s),
        host_s=_chosen(longer, other.host_s, one.host_s),
    )


def _chosen(longer: Any, new: float, old: float) -> float:
    chosen: Any = np.where(longer, new, old)
    return chosen  # type: ignore[no-any-return]


def _crossing_s(stage: StageTimes, filled: float) -> float:
    return stage.total_s - filled * stage.weights_s


def _wait_for_nics(
    exposed_s: dict[Axis, float], busy_s: float, sent_s: Mapping[Axis, float]
) -> None:
    """Add what NICs, which cannot send longer than the step, still send when it would end.

    The axis that sends longest takes it, up to what it hides; what is left goes to the others.
    """
    elapsed_s = busy_s + sum(exposed_s.values())
    left = np.maximum(0.0, sum(sent_s.values()) - elapsed_s)
    most_s = reduce(np.maximum, sent_s.values())
    for of_busiest in (True, False):
        for axis, time_s in sent_s.items():
            hidden_s = np.maximum(0.0, time_s - exposed_s[axis])
            taken = np.minimum(left, hidden_s) * (np.equal(time_s, most_s) == of_busiest)
            exposed_s[axis] = exposed_s[axis] + taken
            left = left - taken


def pipeline_of(
    stages: Sequence[StageTimes],
    times: Schedule,
    *,
    num_micro_batches: int,
    virtual: int,
    order: PipelineOrder = "1f1b",
    accumulation: int = 1,
) -> Pipeline:
    """Return what the stages work through.

    What is exposed of the hops between stages is laid evenly over all passes, so that with
    equal stages the timeline ends when the closed form says.
    """
    slowest = max(range(len(stages)), key=lambda index: stages[index].total_s)
    turns = num_micro_batches + accumulation * (len(stages) - 1) / virtual
    hop_s = times.exposed_s[Axis.PIPELINE] / turns / 2
    return Pipeline(
        stages=tuple(
            _passes(stage, times.slowdown if index == slowest else 1.0, hop_s)
            for index, stage in enumerate(stages)
        ),
        num_micro_batches=num_micro_batches,
        virtual=virtual,
        after_s=times.after_s,
        order=order,
        accumulation=accumulation,
    )


def _passes(stage: StageTimes, slowdown: float, hop_s: float) -> PassTimes:
    costs = stage.costs
    # A layer's passes are launched alike: the host's third, or half, of the wait is forward.
    forward_host_s = stage.host_s / (3 if costs.recompute_s > costs.forward_s / 2 else 2)
    forward_waiting_s = stage.exposed_forward_s + hop_s
    backward_waiting_s = sum(stage.exposed_s.values()) - stage.exposed_forward_s + hop_s
    return PassTimes(
        forward_s=costs.forward_s * slowdown + forward_host_s + forward_waiting_s,
        backward_s=(costs.backward_s + costs.recompute_s) * slowdown
        + (stage.host_s - forward_host_s)
        + backward_waiting_s,
        forward_waiting_s=forward_waiting_s,
        backward_waiting_s=backward_waiting_s,
        weights_s=stage.weights_s * slowdown,
    )


def _not_hidden_s(
    time_s: float, window: Window, phase: Phase, costs: Costs, practice: Practice
) -> float:
    backward = phase == "backward"
    match window:
        case Window.TENSOR:
            return time_s * (1 - practice.tensor_hidden)
        case Window.ATTENTION:
            behind_s = costs.attention_backward_s if backward else costs.attention_s
            return _beside_s(time_s, behind_s, practice)
        case Window.PRODUCT | Window.LAYER:
            behind_s = costs.backward_s + costs.recompute_s if backward else costs.forward_s
            return _beside_s(time_s, behind_s, practice)
        case _:
            return time_s


def _beside_s(time_s: float, behind_s: float, practice: Practice) -> float:
    """Return what *time_s* of communication adds to *behind_s* of computation beside it."""
    hidden_s: float = np.minimum(time_s, behind_s)
    return time_s - hidden_s + practice.drag * hidden_s


def _hops_s(
    traffic: Traffic,
    costs: Costs,
    *,
    num_stages: int,
    num_micro_batches: float,
    virtual: int,
    drains: float,
) -> tuple[float, float]:
    """Return the hops of filling and draining the pipeline, and all that is exposed of hops.

    The pipeline drains *drains* times, after *num_micro_batches* each.

    With virtual stages a hop runs beside another chunk's pass and hides behind no more than that;
    but not while the pipeline fills and drains, where Megatron-Core waits for each hop before the
    next pass (schedules.py, forward_backward_pipelining_with_interleaving: overlap_p2p_comm holds
    between warm-up and cool-down).
    """
    filling_s = exposed_s = 0.0
    num_hops = num_stages - 1
    hidden = np.where(np.greater(virtual, 1), traffic.practice.pipeline_hidden, 0.0)
    # Passes of the first stage before its first backward pass.
    warm_up = np.minimum(num_micro_batches * virtual, 2 * num_hops + (virtual - 1) * num_stages)
    waited = np.where(np.greater(virtual, 1), np.maximum(0, warm_up - num_hops), 0)
    pass_s = {
        "forward": costs.forward_s / virtual,
        "backward": (costs.backward_s + costs.recompute_s) / virtual,
    }
    for item in traffic.behind(Window.OTHER_MICRO_BATCH):
        one_s = traffic.time_s(item)
        waiting_s = one_s - hidden * np.minimum(one_s, pass_s[item.phase])
        filling_s = filling_s + drains * num_hops * one_s
        exposed_s = exposed_s + (drains * num_hops * one_s + item.count * waiting_s)
        exposed_s = exposed_s + drains * waited * (one_s - waiting_s)
    return filling_s, exposed_s


def _data_exposed_s(
    traffic: Traffic, costs: Costs, *, num_stages: int, num_micro_batches: float, virtual: int
) -> float:
    """Return what the last backward and the first forward passes do not hide.

    The last bucket is ready only when the pass ends, and the first gather only delays it, so
    one bucket is always exposed. With virtual stages the chunks end one after another, a group
    of as many micro-batches as there are stages apart; only the last chunk's reduction, and
    the first one's gather, have no more than their own pass to hide behind.
    """
    exposed_s = 0.0
    windows = {
        Window.LAST_BACKWARD: costs.backward_s + costs.recompute_s,
        Window.FIRST_FORWARD: costs.forward_s,
    }
    group = np.minimum(num_stages, num_micro_batches)
    before_s = sum(item.count * traffic.time_s(item) for item in traffic.behind(Window.NEXT_GROUP))
    later_s = (num_micro_batches - group) * windows[Window.LAST_BACKWARD]
    if traffic.practice.overlaps_data:
        before_s = _beside_s(before_s, later_s, traffic.practice)
    exposed_s = exposed_s + before_s
    for window, pass_s in windows.items():
        items = traffic.behind(window)
        total_s = sum(item.count * traffic.time_s(item) for item in items)
        bucket_s: float = reduce(np.maximum, map(traffic.time_s, items), 0.0)
        if not traffic.practice.overlaps_data:
            exposed_s = exposed_s + total_s
            continue
        last_s, others_s = total_s / virtual, total_s * (virtual - 1) / virtual
        between_s = group * pass_s * (virtual - 1) / virtual
        waiting_s = np.maximum(bucket_s, _beside_s(last_s, pass_s / virtual, traffic.practice))
        waiting_s = waiting_s + _beside_s(others_s, between_s, traffic.practice)
        exposed_s = exposed_s + np.minimum(total_s, waiting_s)  # buckets may be larger than a chunk
    return exposed_s
