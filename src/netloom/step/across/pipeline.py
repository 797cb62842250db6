"""A pipeline whose stages stand at several sites, event by event.

Every stage has its passes in a fixed order, so the schedule is a chain of maxima and sums; delays
may be numpy arrays, one element a distance, and all distances are scheduled at once.

Under plain 1F1B the backward pass of a micro-batch must come back over the cut before the stage
before the cut sends the next one, so a delay d is paid once a micro-batch. With k more
micro-batches in flight before the cut, k = 2d / (f + b), it is paid twice a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "CutOrder",
    "SiteCrossing",
    "extra_in_flight",
    "gpipe_extra_s",
    "one_f_one_b_extra_s",
    "schedule_s",
]

CutOrder = Literal["1f1b", "gpipe"]
MAX_PASSES = 30_000  # beyond, the steady state is repeated rather than scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteCrossing:
    """A way between two neighbouring stages that leaves the site.

    Attributes:
        after: The stage before it, from 0.
        delay_s: Propagation; a number, or an array of distances.
        busy_s: How long the line is taken by one micro-batch, each way.
    """

    after: int
    delay_s: float | NDArray[np.float64]
    busy_s: float | NDArray[np.float64] = 0.0


def one_f_one_b_extra_s(num_stages: int, num_micro_batches: int, delay_s: float) -> float:
    """Return what plain 1F1B with a cut in its middle loses to delays below (f + b)."""
    return (num_micro_batches - num_stages / 2 + 2) * delay_s


def gpipe_extra_s(delay_s: float) -> float:
    """Return what GPipe loses: the delay there and back, once a step."""
    return 2 * delay_s


def extra_in_flight(delay_s: float, forward_s: float, backward_s: float) -> int:
    """Return how many more micro-batches before the cut leave two delays a step."""
    return math.ceil(2 * delay_s / (forward_s + backward_s) - 1e-9)


def schedule_s(  # noqa: PLR0913  (a pipeline, its cuts and its order)
    forward_s: Sequence[float],
    backward_s: Sequence[float],
    *,
    num_micro_batches: int,
    crossings: Sequence[SiteCrossing] = (),
    more_in_flight: int = 0,
    level: bool = False,
    order: CutOrder = "1f1b",
) -> NDArray[np.float64]:
    """Return when the last pass of a step ends, for every delay.

    Args:
        forward_s: Of each stage, for one micro-batch.
        backward_s: Of each stage, for one micro-batch.
        num_micro_batches: In a step.
        crossings: The ways that leave a site.
        more_in_flight: Micro-batches that every stage before the last crossing starts beyond
            those of the plain order.
        level: Whether every stage before the last crossing has as many in flight as the first, so
            that no GPU holds more than the fullest one does anyway.
        order: ``1f1b``, or all forward passes first.
    """
    stages, batches = len(forward_s), num_micro_batches
    if 2 * stages * batches <= MAX_PASSES or order == "gpipe":
        return _scheduled(forward_s, backward_s, batches, crossings, more_in_flight, level, order)
    period = 2 * (2 + more_in_flight)
    first = 2 * stages + 2 * more_in_flight + 2
    first += (batches - first) % period  # whole periods are left
    if batches <= first + period:
        return _scheduled(forward_s, backward_s, batches, crossings, more_in_flight, level, order)
    short = _scheduled(forward_s, backward_s, first, crossings, more_in_flight, level, order)
    longer = _scheduled(
        forward_s, backward_s, first + period, crossings, more_in_flight, level, order
    )
    return short + (longer - short) * ((batches - first) / period)


def _scheduled(  # noqa: PLR0913, PLR0917  (the arguments of schedule_s)
    forward_s: Sequence[float],
    backward_s: Sequence[float],
    batches: int,
    crossings: Sequence[SiteCrossing],
    more_in_flight: int,
    level: bool,  # noqa: FBT001  (the arguments of schedule_s)
    order: CutOrder,
) -> NDArray[np.float64]:
    stages = len(forward_s)
    over = {crossing.after: crossing for crossing in crossings}
    last_cut = max(over, default=-1)
    shape = np.broadcast_shapes(*(np.shape(one.delay_s) for one in crossings), ())
    passes = [
        _order(
            stages,
            stage,
            batches,
            more_in_flight + stage * level if stage <= last_cut else 0,
            order,
        )
        for stage in range(stages)
    ]
    here: list[NDArray[np.float64]] = [np.zeros(shape)] * stages
    # When what a pass needs is there: the first stage's forward passes and nothing else at first.
    ready_forward: list[list[NDArray[np.float64] | None]]
    ready_forward = [[None] * batches for _ in range(stages)]
    ready_forward[0] = [np.zeros(shape)] * batches
    ready_backward: list[list[NDArray[np.float64] | None]] = [
        [None] * batches for _ in range(stages)
    ]
    line_free = {(way, cut): np.zeros(shape) for way in ("F", "B") for cut in over}
    at = [0] * stages
    todo = list(range(stages))
    while todo:
        stage = todo.pop()
        while at[stage] < 2 * batches:
            way, batch = passes[stage][at[stage]]
            ready = (ready_forward if way == "F" else ready_backward)[stage][batch]
            if ready is None:
                break
            took_s = forward_s[stage] if way == "F" else backward_s[stage]
            end = np.maximum(here[stage], ready) + took_s
            here[stage] = end
            at[stage] += 1
            to = stage + 1 if way == "F" else stage - 1
            if to == stages:
                ready_backward[stage][batch] = end
            elif to >= 0:
                arrives = _arrival(end, way, min(stage, to), over, line_free)
                (ready_forward if way == "F" else ready_backward)[to][batch] = arrives
                todo.append(to)
    assert all(done == 2 * batches for done in at), "an order that waits for itself"
    last: NDArray[np.float64] = np.max(
        np.stack([np.broadcast_to(one, shape) for one in here]), axis=0
    )
    return last


def _arrival(
    end: NDArray[np.float64],
    way: str,
    cut: int,
    over: dict[int, SiteCrossing],
    line_free: dict[tuple[str, int], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return when what *end* finished is on the other side; a line sends one at a time."""
    crossing = over.get(cut)
    if crossing is None:
        return end
    sent = np.maximum(end, line_free[way, cut]) + crossing.busy_s
    line_free[way, cut] = sent
    arrived: NDArray[np.float64] = sent + crossing.delay_s
    return arrived


def _order(
    stages: int, stage: int, batches: int, more: int, order: CutOrder
) -> list[tuple[str, int]]:
    """Return a stage's passes: warm-up, one forward and one backward by turns, cool-down."""
    ahead = batches if order == "gpipe" else min(batches, stages - 1 - stage + more)
    passes = [("F", batch) for batch in range(ahead)]
    for batch in range(ahead, batches):
        passes += [("F", batch), ("B", batch - ahead)]
    return passes + [("B", batch) for batch in range(batches - ahead, batches)]
