"""What one GPU holds in a training step, and whether it fits.

A file for each idea: ``states`` (weights, gradients, optimizer), ``activations`` (what a layer
keeps, tensor by tensor), ``loss`` (logits), ``working`` (what a pass needs for a moment),
``in_flight`` (micro-batches that a schedule holds at once), ``reserved`` (what the allocator does
not count), ``stage`` (all of it), ``fit`` (refusals and remedies), ``explain`` and ``course`` (for
``--why`` and the report).
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
from netloom.step.memory.stage import StepMemory, kept_bytes, memory, stage_memory, step_memory
from netloom.step.memory.states import states

__all__ = [
    "DOUBTED_OVER",
    "REFUSED_OVER",
    "RESERVED_BYTES",
    "SLACK",
    "MemoryCourse",
    "StepMemory",
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
