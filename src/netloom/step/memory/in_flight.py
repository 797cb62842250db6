"""Micro-batches that a pipeline stage holds at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout

__all__ = ["fullest_stages", "in_flight", "micro_batches_at_once"]


def fullest_stages(num_stages: int) -> list[int]:
    """Return the stages of which one is the fullest.

    The first stage holds most micro-batches, the second may hold a layer more, the last has the
    logits; those between lie between.
    """
    return sorted({0, min(1, num_stages - 1), num_stages // 2, num_stages - 1})


def micro_batches_at_once(training: Training, plan: Layout, practice: Practice) -> int:
    """Return the micro-batches that cross the pipeline before it drains."""
    count = training.global_batch // (plan.data * training.micro_batch)
    return max(1, count // practice.accumulation)


def in_flight(
    plan: Layout, *, num_micro_batches: int, virtual: int, stage: int, num_layers: int = 0
) -> float:
    """Return the micro-batches whose activations *stage* holds at once.

    GPipe: all. 1F1B: one for itself and each later stage, and so with ZB-H1 (Qi et al. 2023,
    arXiv:2401.10241, section 2.2). With v virtual stages, Megatron's warm-up runs
    2 (p - stage - 1) + (v - 1) p chunks before the first backward, each 1/v of a micro-batch:
    on the first stage p (1 + (p - 1)/(p v)) (Korthikanti et al. 2022, section 4.2.3). Both
    counts may be arrays.

    Args:
        plan: Degrees and schedule.
        num_micro_batches: Of one data-parallel rank.
        virtual: Chunks of layers on the stage.
        stage: Which one, from 0.
        num_layers: Of the stage, where the first chunk may be a layer short for the embedding.
    """
    if plan.schedule == "gpipe":
        return 1.0 * num_micro_batches
    last = plan.pipeline - 1
    interleaved = plan.pipeline + (last - 2 * stage) / virtual
    ahead: Any = np.where(np.greater(virtual, 1), interleaved, plan.pipeline - stage + 0.0)
    at_once: float = np.minimum(ahead, num_micro_batches)
    if stage or not num_layers:
        return at_once
    # Of the first chunk, p micro-batches wait and p - 1 of the next round are there already: were
    # it as long as the others, they would hold 2 p - 1 layers more.
    short: Any = np.greater(virtual, 1) & np.equal((num_layers + 1) % virtual, 0)
    first: Any = np.minimum(2 * plan.pipeline - 1, num_micro_batches)
    uneven = (at_once * (num_layers + 1) - first) / num_layers
    found: float = np.where(short, uneven, at_once)  # type: ignore[assignment]
    return found
