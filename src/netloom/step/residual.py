"""What is left between operators timed alone and the same operators in a step.

These are the only parameters taken from step times, at most five to a GPU generation; the rows
they were taken from are named in docs/models/step.md and are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from netloom.provenance import Source, Validity

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Precision
    from netloom.step.practice import FlashVersion

__all__ = ["RESIDUALS", "RESIDUAL_SOURCE", "Residual", "generation_of", "residual_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One GPU generation.

    Attributes:
        compute: Operators in a step over the same operators alone: clocks under steady load,
            caches that others use, kernels that were not timed.
        compute_fp8: The same for fp8 training, which also keeps scaling factors.
        flash_1: The first FlashAttention's time over that of the kernels measured on Hopper, at
            the same share of the GPU's peak.
        flash_2: The same of the second.
        flash_3: The same of the current kernels.
        unfused: Memory-bound operators, each a kernel of its own, over fused ones.
        validity: Doubts that come with it.
    """

    compute: float = 1.0
    compute_fp8: float = 1.0
    flash_1: float = 1.0
    flash_2: float = 1.0
    flash_3: float = 1.0
    unfused: float = 1.0
    validity: Validity = field(default_factory=Validity)

    def of(self, precision: Precision) -> float:
        """Return the factor on operators at *precision*."""
        return self.compute_fp8 if precision == "fp8" else self.compute

    def attention(self, flash: FlashVersion) -> float:
        """Return the factor on fused attention of a kernel generation."""
        return {1: self.flash_1, 2: self.flash_2, 3: self.flash_3}[flash]


# Fitted: bench.fit_steps, but for flash_2, which is published: on H100 FlashAttention-2 reaches
# 35 % of the peak and FlashAttention-3 75 % at most (arXiv:2407.08608; recalled), the kernels
# measured on Hopper 65 %.
RESIDUAL_SOURCE: Final = Source(
    citation="named rows of published training steps (docs/models/step.md)", confidence="derived"
)
GRACE: Final = Residual(compute=0.907, compute_fp8=0.952)
RESIDUALS: Final = {
    "ampere": Residual(compute=0.976, flash_1=1.79),
    "hopper": Residual(compute=1.027, compute_fp8=1.0595, flash_1=3.0, flash_2=1.85, unfused=1.33),
    "blackwell": Residual(compute=1.09, compute_fp8=1.09, flash_3=1.32),
    "gb200": GRACE,
    # The same machine with the next GPU; no dense step on it was looked at.
    "gb300": replace(GRACE, validity=Validity(("No training step on GB300 was looked at.",))),
}


def generation_of(gpu: Gpu) -> str:
    """Return which residual is the GPU's: its own, or that of its architecture."""
    own = gpu.name.lower()
    return own if own in RESIDUALS else gpu.architecture.lower()


def residual_of(gpu: Gpu) -> Residual:
    """Return the residual of a GPU; none, and a doubt, where no step on its kind was seen."""
    found = RESIDUALS.get(generation_of(gpu))
    if found is not None:
        return found
    return Residual(validity=Validity((f"No training step on {gpu.architecture} was looked at.",)))
