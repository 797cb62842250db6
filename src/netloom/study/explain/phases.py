"""Where a step goes, in the words that a prediction and a recording share.

A GPU's time is cut into disjoint parts, so that a recorded step is the sum of its phases: the
kinds of kernels, the weight update, communication that no kernel runs beside (by axis), and what
is left, in which the GPU is idle: for data, for the host's launches, or for neither.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.study.explain.intervals import clipped, intersection, length_s, minus, union
from netloom.study.explain.timeline import TimeSpan
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.spec.scenario import Parallel
    from netloom.step.model import Step
    from netloom.study.explain.timeline import CollectiveCall, GpuWork, RankTimeline

__all__ = ["PHASES", "RecordedStep", "predicted_phases", "recorded_step"]

PRODUCTS: Final = "matrix products"
ATTENTION: Final = "attention"
MEMORY: Final = "memory-bound kernels"
OPTIMIZER: Final = "weight update"
COPIES: Final = "copies"
DATA: Final = "waiting for data"
HOST: Final = "waiting for the host"
IDLE: Final = "other idle time"
_EXPOSED: Final = "exposed communication, {}"
PHASES: Final = (PRODUCTS, ATTENTION, MEMORY, OPTIMIZER, COPIES, DATA, HOST, IDLE)

_DATA_RANGE: Final = re.compile(
    r"^(enumerate\()?(data|dataloader|next batch|batch[-_]generator|get_batch|load(ing)? data)",
    re.IGNORECASE,
)
_GROUPS: Final = (
    (Axis.EXPERT, re.compile(r"expert|(^|[^a-z])ep([^a-z]|$)", re.IGNORECASE)),
    (Axis.TENSOR, re.compile(r"tensor|(^|[^a-z])tp([^a-z]|$)", re.IGNORECASE)),
    (Axis.CONTEXT, re.compile(r"context|(^|[^a-z])cp([^a-z]|$)", re.IGNORECASE)),
    (Axis.PIPELINE, re.compile(r"pipe|(^|[^a-z])pp([^a-z]|$)", re.IGNORECASE)),
    (Axis.DATA, re.compile(r"data|fsdp|(^|[^a-z])dp([^a-z]|$)|shard|replicate", re.IGNORECASE)),
)
_FORWARD: Final = re.compile(r"fprop|fwd|forward", re.IGNORECASE)
_BACKWARD: Final = re.compile(r"bprop|bwd|backward", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One step of one rank, the mean of those recorded.

    Attributes:
        phases_s: Where it goes; the values add up to ``duration_s``.
        communication_s: Every collective by axis, hidden or not.
        forward_attentions: Attention kernels of the forward direction, and of the backward one.
    """

    rank: int
    duration_s: float
    phases_s: Mapping[str, float]
    communication_s: Mapping[Axis, float]
    forward_attentions: float
    backward_attentions: float

    @property
    def compute_s(self) -> float:
        """The kernels that train the model."""
        return sum(self.phases_s[one] for one in (PRODUCTS, ATTENTION, MEMORY))


def exposed(axis: Axis) -> str:
    """Return what the exposed communication of *axis* is called."""
    return _EXPOSED.format(axis.value)


def predicted_phases(step: Step) -> dict[str, float]:
    """Return where a predicted step goes; the values add up to its duration.

    Transfers between pipeline stages wait for their sender, so the bubble is theirs.
    """
    busy_s = step.compute_s - step.host_s
    share = step.kinds.get
    found = {
        PRODUCTS: busy_s * share("matmul", 0.0),
        ATTENTION: busy_s * share("attention", 0.0),
        MEMORY: busy_s * (share("pointwise", 0.0) + share("norm", 0.0)),
        OPTIMIZER: step.optimizer_s,
        HOST: step.host_s,
    }
    for axis, time_s in step.exposed_s.items():
        found[exposed(axis)] = time_s + (step.bubble_s if axis is Axis.PIPELINE else 0.0)
    if Axis.PIPELINE not in step.exposed_s and step.bubble_s:
        found[exposed(Axis.PIPELINE)] = step.bubble_s
    return found


def recorded_step(one: RankTimeline, parallel: Parallel) -> RecordedStep:
    """Return where the recorded steps of one rank went, a step's mean."""
    window = TimeSpan(one.steps[0].start_s, one.steps[-1].end_s)
    num = len(one.steps)
    cut = _Cut(one, window, parallel)
    phases_s = {phase: time_s / num for phase, time_s in cut.phases_s().items()}
    counts = Counter(map(_direction, cut.attention))
    return RecordedStep(
        rank=one.rank,
        duration_s=window.duration_s / num,
        phases_s=phases_s,
        communication_s={axis: time_s / num for axis, time_s in cut.communication_s().items()},
        forward_attentions=counts["forward"] / num,
        backward_attentions=counts["backward"] / num,
    )


def _direction(work: GpuWork) -> str:
    if _BACKWARD.search(work.name):
        return "backward"
    return "forward" if _FORWARD.search(work.name) else ""


def axis_of(call: CollectiveCall, parallel: Parallel) -> Axis:
    """Return which way of dividing the work a collective serves.

    The name of its group says so; without one, a transfer is the pipeline's and anything else
    belongs to the only axis that is divided, or to data.
    """
    for axis, pattern in _GROUPS:
        if pattern.search(call.group):
            return axis
    if call.operation == "send-recv":
        return Axis.PIPELINE
    divided = [
        axis
        for axis in (Axis.TENSOR, Axis.CONTEXT, Axis.EXPERT)
        if getattr(parallel, axis.value) in {call.num_ranks} - {0, 1}
    ]
    return divided[0] if len(divided) == 1 else Axis.DATA


class _Cut:
    """A window of a rank's recording, cut into disjoint parts."""

    def __init__(self, one: RankTimeline, window: TimeSpan, parallel: Parallel) -> None:
        self._one, self._window, self._parallel = one, window, parallel
        self._optimizer = union(clipped(one.optimizer, window))
        inside = [work for work in one.work if _is_inside(work.span, window)]
        self.attention = [work for work in inside if work.kind == "attention"]
        self._inside = inside

    def phases_s(self) -> dict[str, float]:
        """Return how long each phase is."""
        taken, found = list(self._optimizer), {OPTIMIZER: length_s(self._optimizer)}
        kinds = ((PRODUCTS, "products"), (ATTENTION, "attention"), (MEMORY, "memory-bound"))
        for phase, kind in kinds:
            found[phase] = self._take(taken, self._spans(kind))
        for axis, spans in self._by_axis().items():
            found[exposed(axis)] = self._take(taken, spans)
        found[COPIES] = self._take(taken, self._spans("copy"))
        found |= self._idle_s(union(taken))
        return found

    def communication_s(self) -> dict[Axis, float]:
        """Return how long the collectives of each axis run, hidden or not."""
        return {axis: length_s(union(spans)) for axis, spans in self._by_axis().items()}

    def _take(self, taken: list[TimeSpan], spans: Iterable[TimeSpan]) -> float:
        """Take what is left of *spans*, and return how long that is."""
        left = minus(union(clipped(spans, self._window)), union(taken))
        taken += left
        return length_s(left)

    def _spans(self, kind: str) -> list[TimeSpan]:
        return [work.span for work in self._inside if work.kind == kind]

    def _by_axis(self) -> dict[Axis, list[TimeSpan]]:
        found: dict[Axis, list[TimeSpan]] = {}
        for call in self._one.collectives:
            axis = axis_of(call, self._parallel)
            found.setdefault(axis, []).extend(clipped([call.span], self._window))
        return {axis: spans for axis, spans in found.items() if spans}

    def _idle_s(self, busy: list[TimeSpan]) -> dict[str, float]:
        """Return what the GPU waits for while it is idle."""
        idle = minus([self._window], busy)
        data = union(
            clipped(
                (one.span for one in self._one.host if _DATA_RANGE.match(one.name)), self._window
            )
        )
        for_data = intersection(idle, data)
        left = minus(idle, for_data)
        host = intersection(left, union(self._late_launches()))
        return {
            DATA: length_s(for_data),
            HOST: length_s(host),
            IDLE: length_s(minus(left, host)),
        }

    def _late_launches(self) -> Iterable[TimeSpan]:
        """Yield the times in which the next work had not been handed to the GPU yet."""
        before_s = self._window.start_s
        for work in self._inside:
            if work.launched_s is not None and work.launched_s > before_s:
                # From the launch to the start the GPU fetches the work: a part of launching it.
                yield TimeSpan(before_s, max(work.span.start_s, before_s))
            before_s = max(before_s, work.span.end_s)


def _is_inside(span: TimeSpan, window: TimeSpan) -> bool:
    return span.end_s > window.start_s and span.start_s < window.end_s
