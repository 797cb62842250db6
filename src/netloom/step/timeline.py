"""One step's pipeline, interval by interval.

The closed form of :mod:`netloom.step.schedule` says how long; this says when. Each stage works
through its passes in the order that Megatron-LM gives them (``schedules.py``:
``forward_backward_pipelining_with(out)_interleaving``), a pass starting when the stage is free
and what it needs has arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.spec.scenario import PipelineOrder

__all__ = ["BusyInterval", "PassTimes", "Pipeline", "Timeline", "orders", "timeline"]

Way = Literal["forward", "backward", "weights"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTimes:
    """What one stage takes for one micro-batch, all its chunks together.

    Attributes:
        backward_s: Recomputation included.
        weights_s: Of the backward pass, the gradients of the weights, which ZB-H1 puts off.
        forward_waiting_s: Of the forward pass, the end that waits for communication.
        backward_waiting_s: The same of the backward pass.
    """

    forward_s: float
    backward_s: float
    weights_s: float = 0.0
    forward_waiting_s: float = 0.0
    backward_waiting_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """What the stages of one step work through.

    Attributes:
        after_s: Data-parallel communication that follows the last pass.
        accumulation: Batches that the micro-batches come in; the pipeline drains after each.
    """

    stages: tuple[PassTimes, ...]
    num_micro_batches: int
    virtual: int
    after_s: float = 0.0
    order: PipelineOrder = "1f1b"
    accumulation: int = 1

    def timeline(self) -> Timeline:
        """Return when every pass runs."""
        return timeline(
            self.stages,
            num_micro_batches=self.num_micro_batches,
            virtual=self.virtual,
            kind=self.order,
            accumulation=self.accumulation,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyInterval:
    """A stage busy with one pass of one chunk of layers on one micro-batch."""

    stage: int
    way: Way
    chunk: int
    micro_batch: int
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All passes of a step, stage by stage in order of time."""

    stages: tuple[tuple[BusyInterval, ...], ...]

    @property
    def makespan_s(self) -> float:
        """From the first pass's start to the last one's end."""
        return max(stage[-1].end_s for stage in self.stages)

    def idle_s(self, stage: int) -> float:
        """Return how long *stage* waits before, between and after its passes."""
        return self.makespan_s - sum(one.end_s - one.start_s for one in self.stages[stage])


_Pass = tuple[Way, int, int]  # way, chunk, micro-batch


def orders(
    num_stages: int,
    num_micro_batches: int,
    *,
    virtual: int = 1,
    kind: PipelineOrder = "1f1b",
    accumulation: int = 1,
) -> list[list[tuple[Way, int, int]]]:
    """Return the passes of every stage in order: (way, chunk, micro-batch).

    The micro-batches come in *accumulation* batches; a stage begins one when it has ended the last.
    """
    each = num_micro_batches // accumulation
    once = _orders_of_batch(num_stages, each, virtual, kind)
    return [
        [
            (way, chunk, first + batch)
            for first in range(0, each * accumulation, each)
            for way, chunk, batch in passes
        ]
        for passes in once
    ]


def _orders_of_batch(
    num_stages: int, num_micro_batches: int, virtual: int, kind: PipelineOrder
) -> list[list[_Pass]]:
    if kind == "zero-bubble":
        return [_put_off(stage, num_stages, num_micro_batches) for stage in range(num_stages)]
    table = list(_turns(num_stages, num_micro_batches, virtual))
    forward: list[_Pass] = [("forward", chunk, batch) for chunk, batch in table]
    backward: list[_Pass] = [("backward", virtual - 1 - chunk, batch) for chunk, batch in table]
    return [
        _one_stage(forward, backward, _warm_up(stage, num_stages, virtual, kind, len(table)))
        for stage in range(num_stages)
    ]


def timeline(
    stages: Sequence[PassTimes],
    *,
    num_micro_batches: int,
    virtual: int = 1,
    hop_s: float = 0.0,
    kind: PipelineOrder = "1f1b",
    accumulation: int = 1,
) -> Timeline:
    """Return when every pass of a step runs.

    Args:
        stages: First to last; a chunk takes 1/virtual of its stage.
        num_micro_batches: Of one data-parallel rank.
        virtual: Chunks of layers on each stage.
        hop_s: From a stage to the next, after the pass.
        kind: ``gpipe`` runs every forward pass before any backward pass; ``zero-bubble`` is
            ZB-H1 (Qi et al. 2023, arXiv:2401.10241), for one chunk on a stage.
        accumulation: Batches that the micro-batches come in.
    """
    assert virtual == 1 or kind != "zero-bubble"
    todo = orders(
        len(stages), num_micro_batches, virtual=virtual, kind=kind, accumulation=accumulation
    )
    state = _State(stages, virtual, hop_s, apart=kind == "zero-bubble")
    positions = [0] * len(stages)
    left = sum(map(len, todo))
    while left:
        before = left
        for stage, passes in enumerate(todo):
            while positions[stage] < len(passes) and state.run(stage, passes[positions[stage]]):
                positions[stage] += 1
                left -= 1
        assert left < before, "the order of passes cannot be kept"
    return Timeline(stages=tuple(map(tuple, state.done)))


def _turns(num_stages: int, num_micro_batches: int, virtual: int) -> Iterator[tuple[int, int]]:
    """Yield (chunk, micro-batch) in the order a stage takes them forward.

    As many micro-batches as stages go through a chunk before the next chunk has its turn.
    """
    group = num_stages if virtual > 1 else num_micro_batches
    for first in range(0, num_micro_batches, group):
        for chunk in range(virtual):
            for batch in range(first, min(first + group, num_micro_batches)):
                yield chunk, batch


def _warm_up(stage: int, num_stages: int, virtual: int, kind: PipelineOrder, total: int) -> int:
    """Return the forward passes a stage runs before its first backward pass."""
    if kind == "gpipe":
        return total
    later = num_stages - stage - 1
    if virtual == 1:
        return min(later, total)
    return min(2 * later + (virtual - 1) * num_stages, total)


def _one_stage(forward: list[_Pass], backward: list[_Pass], warm_up: int) -> list[_Pass]:
    steady = len(forward) - warm_up
    mixed = [one for k in range(steady) for one in (forward[warm_up + k], backward[k])]
    return [*forward[:warm_up], *mixed, *backward[steady:]]


def _put_off(stage: int, num_stages: int, num_micro_batches: int) -> list[_Pass]:
    """Return the passes of a stage in ZB-H1: 1F1B, with weights as many turns late as *stage*."""
    warm_up = min(num_stages - stage, num_micro_batches)
    passes: list[_Pass] = [("forward", 0, batch) for batch in range(warm_up)]
    for batch in range(num_micro_batches):
        passes.append(("backward", 0, batch))
        if warm_up + batch < num_micro_batches:
            passes.append(("forward", 0, warm_up + batch))
        if batch >= stage:
            passes.append(("weights", 0, batch - stage))
    late = range(max(0, num_micro_batches - stage), num_micro_batches)
    return [*passes, *(("weights", 0, batch) for batch in late)]


class _State:
    """What has run so far."""

    def __init__(
        self, stages: Sequence[PassTimes], virtual: int, hop_s: float, *, apart: bool
    ) -> None:
        self._stages, self._virtual, self._hop_s = stages, virtual, hop_s
        self._apart = apart  # whether weights have passes of their own
        self._free_s = [0.0] * len(stages)
        self._ends: dict[tuple[Way, int, int], float] = {}  # way, virtual stage, micro-batch
        self.done: list[list[BusyInterval]] = [[] for _ in stages]

    def run(self, stage: int, one: _Pass) -> bool:
        """Run *one* pass of *stage* if what it needs has been computed; say whether."""
        way, chunk, batch = one
        place = chunk * len(self._stages) + stage
        ready_s = self._ready_s(way, place, batch)
        if ready_s is None:
            return False
        start_s = max(ready_s, self._free_s[stage])
        took_s = self._took_s(stage, way) / self._virtual
        self._free_s[stage] = self._ends[way, place, batch] = start_s + took_s
        self.done[stage].append(
            BusyInterval(
                stage=stage,
                way=way,
                chunk=chunk,
                micro_batch=batch,
                start_s=start_s,
                end_s=start_s + took_s,
            )
        )
        return True

    def _took_s(self, stage: int, way: Way) -> float:
        times = self._stages[stage]
        match way:
            case "forward":
                return times.forward_s
            case "weights":
                return times.weights_s
            case "backward":
                return times.backward_s - (times.weights_s if self._apart else 0.0)

    def _ready_s(self, way: Way, place: int, batch: int) -> float | None:
        last = len(self._stages) * self._virtual - 1
        if way == "weights":
            return self._ends.get(("backward", place, batch))
        if way == "forward":
            if place == 0:
                return 0.0
            found = self._ends.get(("forward", place - 1, batch))
        elif place == last:
            return self._ends.get(("forward", last, batch))
        else:
            found = self._ends.get(("backward", place + 1, batch))
        return None if found is None else found + self._hop_s
