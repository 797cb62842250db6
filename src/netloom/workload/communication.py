"""A collective as a step repeats it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from netloom.workload.collective import Axis, Collective

__all__ = ["Communication", "Per", "Phase", "Window"]

Phase = Literal["forward", "backward", "recompute"]
Per = Literal["layer", "moe-layer", "dense-layer", "chunk", "group", "step"]


class Window(StrEnum):
    """What computation a communication can hide behind."""

    NONE = "nothing"
    TENSOR = "the matrix product before or after it, where the two are cut into pieces"
    PRODUCT = "another matrix product that does not need it"
    ATTENTION = "the attention of the same layer"
    LAYER = "the computation of the neighbouring layer"
    OTHER_MICRO_BATCH = "other micro-batches, once the pipeline is full"
    LAST_BACKWARD = "the last micro-batch's backward pass"
    NEXT_GROUP = "the backward passes of the groups of micro-batches after it"
    FIRST_FORWARD = "the first micro-batch's forward pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    """A collective that a step repeats.

    Attributes:
        purpose: What it is for, in words.
        phase: In which pass it runs.
        each: How often, for one of *per*.
        per: ``chunk`` is one virtual pipeline stage's turn with one micro-batch, ``group`` as many
            micro-batches as there are stages, the last of a step apart.
        window: What can hide it.
        count: How often in a step, on one GPU of the fullest stage.
        host_s: What the host takes for it each time, while the GPU waits.
    """

    axis: Axis
    purpose: str
    phase: Phase
    collective: Collective
    each: int
    per: Per
    window: Window
    count: int = 0
    host_s: float = 0.0

    @property
    def size_bytes(self) -> float:
        """Size of all its runs in a step together."""
        return self.count * self.collective.size_bytes
