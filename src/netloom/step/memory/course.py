"""Memory of a GPU over the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.step.model import Memory
    from netloom.step.timeline import Pipeline

__all__ = ["MemoryCourse", "memory_course"]

_MOST_PASSES: Final = 200_000  # of all stages; a picture of more takes longer than the prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCourse:
    """What a GPU of one stage holds from the start of a step to its end.

    Attributes:
        times_s: When it changes.
        held_bytes: What is held from then on, states included.
        states_bytes: Weights, gradients and optimizer states, and what ZeRO 3 gathers.
    """

    times_s: tuple[float, ...]
    held_bytes: tuple[float, ...]
    states_bytes: float

    def thinned(self, num_points: int) -> MemoryCourse:
        """Return at most *num_points* points, the highest of each stretch of time."""
        if len(self.times_s) <= num_points:
            return self
        each = -(-len(self.times_s) // num_points)
        starts = range(0, len(self.times_s), each)
        return MemoryCourse(
            times_s=tuple(self.times_s[start] for start in starts),
            held_bytes=tuple(max(self.held_bytes[start : start + each]) for start in starts),
            states_bytes=self.states_bytes,
        )


def memory_course(held: Memory, pipeline: Pipeline, *, duration_s: float) -> MemoryCourse | None:
    """Return the course of *held*, the memory of one stage; None with too many passes to draw.

    A forward pass leaves a chunk's activations at its end; its backward pass frees them at its own
    end, with ZB-H1 when the gradients of the weights are there. A backward pass holds what it
    works with besides.
    """
    if 2 * pipeline.num_micro_batches * pipeline.virtual * len(pipeline.stages) > _MOST_PASSES:
        return None
    frees = "weights" if pipeline.order == "zero-bubble" else "backward"
    passes = pipeline.timeline().stages[held.stage]
    most, now = 1, 0
    for one in passes:
        now += (one.way == "forward") - (one.way == frees)
        most = max(most, now)
    chunk_bytes = held.activations_bytes / most
    states = held.total_bytes - held.activations_bytes - held.logits_bytes - held.working_bytes
    besides = held.logits_bytes + held.working_bytes
    times, levels, kept = [0.0], [states], 0
    for one in passes:
        working = besides if one.way == "backward" else 0.0
        times.append(one.start_s)
        levels.append(states + kept * chunk_bytes + working)
        kept += (one.way == "forward") - (one.way == frees)
        times.append(one.end_s)
        levels.append(states + kept * chunk_bytes)
    return MemoryCourse(
        times_s=(*times, max(duration_s, times[-1])),
        held_bytes=(*levels, states),
        states_bytes=states,
    )
