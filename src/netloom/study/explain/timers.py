"""Megatron's timers in the words of the prediction.

``forward-compute`` and ``backward-compute`` hold a pass with the communication inside it; what
stages wait for one another is in the ``-recv`` and ``-send`` timers; gradients and weights have
their own. Timers that hold others (``forward-backward``) are left out, so that nothing is counted
twice. The most of all ranks is taken: the step waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.study.explain.phases import DATA, OPTIMIZER
from netloom.workload.collective import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.step.model import Step
    from netloom.study.explain.logged import LoggedSteps

__all__ = ["timed_lines"]

PASSES: Final = "passes, with the communication inside them"
PIPELINE: Final = "bubble and transfers between stages"
GRADIENTS: Final = "gradients and weights of data-parallel ranks"
OTHER: Final = "not in a timer"
_TIMERS: Final = {
    PASSES: ("forward-compute", "backward-compute"),
    PIPELINE: (
        "forward-recv",
        "forward-send",
        "backward-recv",
        "backward-send",
        "forward-send-backward-recv",
        "backward-send-forward-recv",
        "forward-send-forward-recv",
        "backward-send-backward-recv",
        "forward-backward-send-forward-backward-recv",
    ),
    GRADIENTS: (
        "all-grads-sync",
        "grads-all-reduce",
        "grads-reduce-scatter",
        "params-all-gather",
        "layernorm-grads-all-reduce",
        "embedding-grads-all-reduce",
    ),
    OPTIMIZER: ("optimizer",),
    DATA: ("batch-generator",),
}
_INSIDE: Final = (Axis.TENSOR, Axis.CONTEXT, Axis.EXPERT)


def timed_lines(step: Step, log: LoggedSteps) -> Iterator[dict[str, Any]]:
    """Yield phase, predicted and measured time; nothing where the log has no timer."""
    predicted_s = _predicted_s(step)
    seen_s = 0.0
    for phase, names in _TIMERS.items():
        found = [log.timers[name].max_s for name in names if name in log.timers]
        if found:
            measured_s = sum(found)
            if phase == PASSES and set(log.timers) >= DATA_INSIDE:
                measured_s -= log.timers["batch-generator"].max_s
            seen_s += measured_s
            yield {
                "phase": phase,
                "predicted_s": predicted_s[phase],
                "measured_s": measured_s,
            }
    if seen_s:
        left_s = max(0.0, log.step_s - seen_s)
        yield {"phase": OTHER, "predicted_s": None, "measured_s": left_s}


DATA_INSIDE: Final = {"batch-generator", "forward-compute"}  # the batch is fetched in forward_step


def _predicted_s(step: Step) -> dict[str, float]:
    exposed_s = step.exposed_s
    return {
        PASSES: step.compute_s + sum(exposed_s.get(axis, 0.0) for axis in _INSIDE),
        PIPELINE: step.bubble_s + exposed_s.get(Axis.PIPELINE, 0.0),
        GRADIENTS: exposed_s.get(Axis.DATA, 0.0),
        OPTIMIZER: step.optimizer_s,
        DATA: 0.0,
    }
