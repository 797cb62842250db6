"""The axes along which a training step is near a measured one, and how far it is.

Extending the range by an axis takes a field of :class:`StepPoint`, an entry of :data:`AXES` and a
column in ``tools/write_validated.py``'s table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["AXES", "KIND_AXES", "StepAxis", "StepPoint", "axis_named"]

_ALIKE: Final = {"fp16": "bf16"}  # products of both run at one rate


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPoint:
    """Where a step lies on every axis.

    Attributes:
        generation: Of the GPU, as the residuals of the step model name it.
        software: The practice of the training software.
        layers: ``dense`` or ``mixture``.
        micro_batches: Of a replica in a step.
        scale_up: GPUs that one scale-up network joins.
    """

    generation: str
    precision: str
    software: str
    layers: str
    num_gpus: int
    parameters: float
    sequence: int
    tensor: int
    pipeline: int
    virtual_pipeline: int
    context: int
    expert: int
    micro_batches: int
    scale_up: int
    recompute: str

    @property
    def nodes(self) -> str:
        """Whether anything leaves the scale-up network."""
        return "one" if self.num_gpus <= self.scale_up else "many"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAxis:
    """One axis.

    Attributes:
        name: A field of :class:`StepPoint`.
        said: What it is called in a doubt.
        weight: What a difference counts in the distance: each doubling, or another name.
        factor: How many times more or less is still near; None where a name is meant.
        is_degree: Whether 1 means that the step has no such communication, and is near itself only.
        is_judged: Whether a step far on this axis is outside; otherwise it only counts as distance.
    """

    name: str
    said: str
    weight: float
    factor: float | None = None
    is_degree: bool = False
    is_judged: bool = True

    def between(self, value: float | str, other: float | str) -> float:
        """Return how far two values are: doublings, or 1 between two names."""
        if isinstance(value, str) or isinstance(other, str):
            return float(self.alike(value) != self.alike(other))
        return abs(math.log2(value / other))

    def alike(self, value: float | str) -> float | str:
        """Return the value that stands for all that are one on this axis."""
        return _ALIKE.get(value, value) if isinstance(value, str) else value

    def is_near(self, value: float | str, measured: float | str) -> bool:
        """Return whether *measured* vouches for *value*."""
        if self.factor is None:
            return self.between(value, measured) == 0
        if self.is_degree and (value == 1) != (measured == 1):
            return False
        return self.between(value, measured) <= math.log2(self.factor) + 1e-9


# Rows are compared within their kind: the same GPUs, layers, number format and software.
KIND_AXES: Final = (
    StepAxis(name="generation", said="GPU generation", weight=3.0),
    StepAxis(name="layers", said="kind of layers", weight=4.0),
    StepAxis(name="precision", said="precision", weight=1.0),
    StepAxis(name="software", said="software", weight=2.0),
)
AXES: Final = (
    *KIND_AXES,
    StepAxis(name="num_gpus", said="number of GPUs", weight=0.4, factor=2),
    StepAxis(name="parameters", said="number of parameters", weight=0.3, factor=2),
    StepAxis(name="sequence", said="sequence", weight=0.5, factor=2),
    StepAxis(name="tensor", said="tensor degree", weight=0.5, factor=2, is_degree=True),
    StepAxis(name="pipeline", said="pipeline degree", weight=0.3, factor=2, is_degree=True),
    StepAxis(name="virtual_pipeline", said="virtual degree", weight=0.3, factor=2, is_degree=True),
    StepAxis(name="context", said="context degree", weight=0.5, factor=2, is_degree=True),
    StepAxis(name="expert", said="expert degree", weight=0.5, factor=2, is_degree=True),
    StepAxis(name="micro_batches", said="number of micro-batches", weight=0.2, factor=2),
    StepAxis(name="scale_up", said="scale-up size", weight=0.5, factor=1.5),
    StepAxis(name="recompute", said="recompute", weight=0.5),
    StepAxis(name="nodes", said="one node or many", weight=1.0, is_judged=False),
)
_BY_NAME: Final = {axis.name: axis for axis in AXES}


def axis_named(name: str) -> StepAxis:
    """Return the axis *name*."""
    return _BY_NAME[name]
