"""What it costs that the host keeps activations from forward to backward."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.step.memory import kept_bytes
from netloom.workload.placement import stage_layers

if TYPE_CHECKING:
    from netloom.parts.parts import Node
    from netloom.spec.scenario import Training
    from netloom.step.practice import Practice
    from netloom.step.schedule import StageTimes
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["waiting_for_host"]


def waiting_for_host(
    stages: list[StageTimes],
    shape: Transformer,
    plan: Layout,
    training: Training,
    *,
    practice: Practice,
    node: Node,
) -> list[StageTimes]:
    """Return *stages* with what they wait for activations that go to the host and come back.

    Both ways run beside the pass; what the link takes longer than the pass is waited for.
    """
    if not practice.activation_offload:
        return stages
    everything = replace(practice, activation_offload=0)
    counts = stage_layers(shape.model.num_layers, plan.pipeline)
    kept = kept_bytes(shape, plan, training, stages=range(len(stages)), practice=everything)
    found = []
    for number, stage in enumerate(stages):
        moved = kept[number].each * min(1.0, practice.activation_offload / counts[number])
        moving_s = 8 * moved / (node.host_memory_rate_bps or node.host_rate_bps)
        forward_s = max(0.0, moving_s - stage.costs.forward_s)
        backward_s = max(0.0, moving_s - stage.costs.backward_s)
        found.append(replace(stage, host_s=stage.host_s + forward_s + backward_s))
    return found
