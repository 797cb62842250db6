"""What it costs that the host keeps activations, or optimizer state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.step.memory import kept_bytes
from netloom.workload.placement import stage_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.parts.parts import Node
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.step.schedule import StageTimes
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["host_update_s", "offloaded_bytes", "waiting_for_host"]


def offloaded_bytes(
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    stages: Sequence[int],
    practice: Practice,
) -> tuple[float, ...]:
    """Return what each of *stages* sends to the host of one micro-batch, and fetches again."""
    if not practice.activation_offload:
        return (0.0,) * len(stages)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    everything = replace(practice, activation_offload=0)
    kept = kept_bytes(shape, plan, training, stages=stages, practice=everything)
    return tuple(
        one.each * min(1.0, practice.activation_offload / max(1, counts[stage]))
        for stage, one in zip(stages, kept, strict=True)
    )


def waiting_for_host(stage: StageTimes, moved_bytes: float, node: Node) -> StageTimes:
    """Return *stage* with what it waits for activations that go to the host and come back.

    Both ways run beside the pass; what the link takes longer than the pass is waited for.
    """
    moving_s = 8 * moved_bytes / (node.host_memory_rate_bps or node.host_rate_bps)
    forward_s = np.maximum(0.0, moving_s - stage.costs.forward_s)
    backward_s = np.maximum(0.0, moving_s - stage.costs.backward_s)
    waited_s: float = stage.host_s + forward_s + backward_s
    return replace(stage, host_s=waited_s)


def host_update_s(num_parameters: float, *, practice: Practice, gradient: int, node: Node) -> float:
    """Return what the weight update waits for the host to take gradients and return weights.

    The host's own arithmetic is not counted: the catalogue knows no CPUs.

    Args:
        num_parameters: That the GPU updates, wherever their optimizer state is.
        practice: The software, whose share of the state the host holds.
        gradient: Bytes of one gradient.
        node: Whose link to the host's memory they cross.
    """
    moved = practice.optimizer_offload * num_parameters * (gradient + practice.parameter_bytes)
    return 8 * moved / (node.host_memory_rate_bps or node.host_rate_bps)
