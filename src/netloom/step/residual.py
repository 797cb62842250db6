"""What is left between operators timed alone and the same operators in a step.

These are the only parameters taken from step times, at most five to a GPU generation; the rows
they were taken from are named in docs/models/step.md and are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.provenance import Validity

if TYPE_CHECKING:
    from netloom.spec.scenario import Precision
    from netloom.step.practice import FlashVersion

__all__ = ["RESIDUALS", "Residual", "residual_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One GPU generation.

    Attributes:
        compute: Operators in a step over the same operators alone: clocks under steady load,
            caches that others use, kernels that were not timed.
        compute_fp8: The same for fp8 training, which also keeps scaling factors.
        flash_1: The first FlashAttention's time over that of the current kernels.
        flash_2: The same of the second.
        unfused: Memory-bound operators, each a kernel of its own, over fused ones.
        validity: Doubts that come with it.
    """

    compute: float = 1.0
    compute_fp8: float = 1.0
    flash_1: float = 1.0
    flash_2: float = 1.0
    unfused: float = 1.0
    validity: Validity = field(default_factory=Validity)

    def of(self, precision: Precision) -> float:
        """Return the factor on operators at *precision*."""
        return self.compute_fp8 if precision == "fp8" else self.compute

    def attention(self, flash: FlashVersion) -> float:
        """Return the factor on fused attention of a kernel generation."""
        return {1: self.flash_1, 2: self.flash_2, 3: 1.0}[flash]


RESIDUALS: Final = {
    "ampere": Residual(compute=0.976, flash_1=1.785, unfused=1.0),
    "hopper": Residual(compute=1.024, compute_fp8=1.026, flash_1=3.05, flash_2=1.8, unfused=1.39),
}


def residual_of(architecture: str) -> Residual:
    """Return the residual of a GPU generation; none, and a doubt, where no step was seen."""
    found = RESIDUALS.get(architecture.lower())
    if found is not None:
        return found
    return Residual(validity=Validity((f"no training step on {architecture} was looked at",)))
