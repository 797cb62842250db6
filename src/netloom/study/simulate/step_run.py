"""What came of a step that was run packet by packet, beside what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["StepPhase", "StepRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPhase:
    """A part of a step's time.

    Attributes:
        name: As ``predict`` has it in ``breakdown_s``.
        predicted_s: In closed form.
        packets_s: Of the GPUs that end last.
        why: Why the two differ, or may; empty where they do not.
    """

    name: str
    predicted_s: float
    packets_s: float
    why: str = ""

    @property
    def difference_s(self) -> float:
        """How much longer it takes in packets."""
        return self.packets_s - self.predicted_s

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "phase": self.name,
            "predicted_s": self.predicted_s,
            "packets_s": self.packets_s,
            "difference_s": self.difference_s,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """A step.

    Attributes:
        phases: Where its time goes, and where the prediction has it go; each adds up to its step.
        stage: The pipeline stage of the GPUs that the phases are of.
        first_gpu: The first of these.
        num_gpus: How many go in step with it, itself included.
        num_computations: Of all GPUs.
    """

    phases: tuple[StepPhase, ...]
    stage: int
    first_gpu: int
    num_gpus: int
    num_computations: int

    @property
    def duration_s(self) -> float:
        """In packets."""
        return sum(phase.packets_s for phase in self.phases)

    @property
    def predicted_s(self) -> float:
        """In closed form."""
        return sum(phase.predicted_s for phase in self.phases)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "step_time_s": self.duration_s,
            "predicted_s": self.predicted_s,
            "ratio": self.duration_s / self.predicted_s,
            "phases": [phase.to_json() for phase in self.phases],
            "stage": self.stage,
            "first_gpu": self.first_gpu,
            "gpus_in_step": self.num_gpus,
            "computations": self.num_computations,
        }
