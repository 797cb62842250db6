"""Memory of a GPU over the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.step.model import Memory
    from netloom.step.timeline import Pipeline

__all__ = ["MemoryCourse", "memory_course"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCourse:
    """What a GPU of the first stage holds from the start of a step to its end.

    Attributes:
        times_s: When it changes.
        activations_bytes: What is held from then on, besides states.
        states_bytes: Weights, gradients and optimizer states.
    """

    times_s: tuple[float, ...]
    activations_bytes: tuple[float, ...]
    states_bytes: float


def memory_course(held: Memory, pipeline: Pipeline, *, duration_s: float) -> MemoryCourse:
    """Return the course of *held*, the memory of the first stage.

    A forward pass leaves a chunk's activations at its end; its backward pass frees them at its own
    end, with ZB-H1 when the gradients of the weights are there. A backward pass holds what it
    works with besides.
    """
    frees = "weights" if pipeline.order == "zero-bubble" else "backward"
    passes = pipeline.timeline().stages[0]
    most, now = 0, 0
    for one in passes:
        now += (one.way == "forward") - (one.way == frees)
        most = max(most, now)
    chunk_bytes = held.activations_bytes / max(1, most)
    working_bytes = held.logits_bytes + held.working_bytes
    times, levels, kept = [0.0], [0.0], 0
    for one in passes:
        working = working_bytes if one.way == "backward" else 0.0
        times.append(one.start_s)
        levels.append(kept * chunk_bytes + working)
        kept += (one.way == "forward") - (one.way == frees)
        times.append(one.end_s)
        levels.append(kept * chunk_bytes)
    return MemoryCourse(
        times_s=(*times, max(duration_s, times[-1])),
        activations_bytes=(*levels, 0.0),
        states_bytes=held.weights_bytes + held.gradients_bytes + held.optimizer_bytes,
    )
