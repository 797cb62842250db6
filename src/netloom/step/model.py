"""What is known of one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netloom.validated.intervals import step_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.provenance import Validity, Why
    from netloom.step.practice import Practice
    from netloom.step.timeline import Pipeline
    from netloom.validated.intervals import StepBasis, StepInterval
    from netloom.workload.collective import Axis
    from netloom.workload.flops import OperatorKind

__all__ = ["Memory", "Step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one GPU of a pipeline stage holds when it holds most.

    Attributes:
        weights_bytes: With 8-bit copies where the software keeps them.
        activations_bytes: Kept for backward by every micro-batch in flight.
        logits_bytes: Of the loss, where that is when the GPU holds most.
        working_bytes: Of one layer's backward pass, where that is.
        gathered_bytes: Weights and gradients of the layers at hand that ZeRO 3 has gathered.
        reserved_bytes: Outside the allocator: context and communicators.
        slack: What the allocator reserves beyond what is allocated, as a share of it.
        stage: From 0.
        why: How it came about; None until it is asked for.
    """

    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activations_bytes: float
    capacity_bytes: float
    logits_bytes: float = 0.0
    working_bytes: float = 0.0
    gathered_bytes: float = 0.0
    reserved_bytes: float = 0.0
    slack: float = 0.0
    stage: int = 0
    why: Why | None = field(default=None, repr=False)

    @property
    def total_bytes(self) -> float:
        """Everything that is allocated: what ``torch.cuda.max_memory_allocated`` shows."""
        return (
            self.weights_bytes
            + self.gradients_bytes
            + self.optimizer_bytes
            + self.activations_bytes
            + self.logits_bytes
            + self.working_bytes
            + self.gathered_bytes
        )

    def parts_bytes(self) -> dict[str, float]:
        """Return what is allocated, by what it is."""
        return {
            "weights": self.weights_bytes,
            "gradients": self.gradients_bytes,
            "optimizer": self.optimizer_bytes,
            "activations": self.activations_bytes,
            "logits": self.logits_bytes,
            "working": self.working_bytes,
            "gathered": self.gathered_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How long one optimizer step takes, and where the time goes.

    ``compute_s + bubble_s + sum(exposed_s) + optimizer_s`` is ``duration_s``.

    Attributes:
        compute_s: Operators of one GPU, recomputation included.
        kinds: Share of each kind of operator in that.
        host_s: The part of it that the GPU waits for the host to launch.
        bubble_s: Idle in the pipeline's warm-up and cool-down.
        optimizer_s: Weight update.
        communication_s: Every collective and transfer by axis, hidden or not.
        exposed_s: The part of each that no computation hides.
        model_flops: What the model needs, one GPU's share, without recomputation.
        hardware_flops: What is executed, recomputation included.
        tokens: In the global batch.
        pipeline: What each stage works through, for a picture of the step.
        basis: What the error of the duration depends on.
        why: How the duration came about.
        practice: What the training software does.
    """

    duration_s: float
    compute_s: float
    kinds: Mapping[OperatorKind, float]
    host_s: float
    bubble_s: float
    optimizer_s: float
    communication_s: Mapping[Axis, float]
    exposed_s: Mapping[Axis, float]
    model_flops: float
    hardware_flops: float
    peak_flops: float
    tokens: int
    memory: Memory
    pipeline: Pipeline
    validity: Validity
    basis: StepBasis
    why: Why
    practice: Practice

    @property
    def interval(self) -> StepInterval | None:
        """Between which times the step is expected; None where no measured step is near enough."""
        return step_interval(self.basis)

    @property
    def mfu(self) -> float:
        """Model FLOPs over what the GPU could have done in the time."""
        return self.model_flops / (self.duration_s * self.peak_flops)

    @property
    def hfu(self) -> float:
        """Executed FLOPs over what the GPU could have done in the time."""
        return self.hardware_flops / (self.duration_s * self.peak_flops)

    @property
    def tokens_per_s(self) -> float:
        """Of the whole job."""
        return self.tokens / self.duration_s

    def breakdown_s(self) -> dict[str, float]:
        """Return where the time goes; the values add up to ``duration_s``."""
        exposed = {f"exposed_{axis.value}": wait_s for axis, wait_s in self.exposed_s.items()}
        return {
            "compute": self.compute_s,
            "bubble": self.bubble_s,
            **exposed,
            "optimizer": self.optimizer_s,
        }

    @property
    def communication_share(self) -> float:
        """All communication, hidden or not, over the step; 1 when kinds overlap to more."""
        return min(1.0, sum(self.communication_s.values()) / self.duration_s)

    @property
    def exposed_share(self) -> float:
        """Exposed communication over the step."""
        return sum(self.exposed_s.values()) / self.duration_s
