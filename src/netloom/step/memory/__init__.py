"""What one GPU holds in a training step, and whether it fits.

A file for each idea: :mod:`states` (weights, gradients, optimizer), :mod:`activations` (what a layer
keeps, tensor by tensor), :mod:`loss` (logits), :mod:`working` (what a pass needs for a moment),
:mod:`in_flight` (micro-batches that a schedule holds at once), :mod:`reserved` (what the allocator
does not count), :mod:`stage` (all of it), :mod:`fit` (refusals and remedies), :mod:`explain` and
:mod:`course` (for ``--why`` and the report).
"""

from __future__ import annotations

from netloom.step.memory.activations import layer_activation_bytes, layer_tensors
from netloom.step.memory.course import MemoryCourse, memory_course
from netloom.step.memory.fit import (
    DOUBTED_OVER,
    REFUSED_OVER,
    check_memory,
    fits,
    memory_validity,
)
from netloom.step.memory.in_flight import fullest_stages, in_flight
from netloom.step.memory.reserved import RESERVED_BYTES, SLACK, needed_bytes
from netloom.step.memory.stage import kept_bytes, memory, stage_memory, step_memory
from netloom.step.memory.states import states

__all__ = [
    "DOUBTED_OVER",
    "REFUSED_OVER",
    "RESERVED_BYTES",
    "SLACK",
    "MemoryCourse",
    "check_memory",
    "fits",
    "fullest_stages",
    "in_flight",
    "kept_bytes",
    "layer_activation_bytes",
    "layer_tensors",
    "memory",
    "memory_course",
    "memory_validity",
    "needed_bytes",
    "stage_memory",
    "states",
    "step_memory",
]
