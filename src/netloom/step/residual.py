"""What is left between operators timed alone and the same operators in a step.

These are the only parameters taken from step times, at most five to a GPU generation; the rows
they were taken from are named in docs/models/step.md and are not judged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.compute.generation import GENERATIONS, Residual
from netloom.provenance import Source, Validity

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu

__all__ = ["RESIDUALS", "RESIDUAL_SOURCE", "Residual", "generation_of", "residual_of"]


# Fitted: bench.fit_steps, but for flash_2, which is published: on H100 FlashAttention-2 reaches
# 35 % of the peak and FlashAttention-3 75 % at most (arXiv:2407.08608; recalled), the kernels
# measured on Hopper 65 %.
RESIDUAL_SOURCE: Final = Source(
    citation="named rows of published training steps (docs/models/step.md)", confidence="derived"
)
# H100 limited to 500 of 700 W are among the measured ones: (500 / 700) ^ (1/3).
LEAST_PEAK_SHARE: Final = 0.89
# Of generations, and of GPUs whose host is part of the module.
RESIDUALS: Final = {
    name: residual
    for one in GENERATIONS.entries()
    for name, residual in {one.name: one.residual, **one.superchips}.items()
    if residual is not None
}


def generation_of(gpu: Gpu) -> str:
    """Return which residual is the GPU's: its own, or that of its architecture."""
    own = gpu.name.lower()
    return own if own in RESIDUALS else gpu.architecture.lower()


def residual_of(gpu: Gpu) -> Residual:
    """Return the residual of a GPU; none, and a doubt, where no step on its kind was seen."""
    found = RESIDUALS.get(generation_of(gpu))
    if found is not None:
        return replace(found, validity=found.validity & _slower_validity(gpu, found))
    return Residual(validity=Validity((f"No training step on {gpu.architecture} was looked at.",)))


def _slower_validity(gpu: Gpu, found: Residual) -> Validity:
    """Return the doubt about a GPU that was cut down further than a power limit does."""
    if found.peak_flops is None or gpu.peak.bf16 is None:
        return Validity()
    if gpu.peak.bf16 >= LEAST_PEAK_SHARE * found.peak_flops:
        return Validity()
    measured, has = (f"{one / 1e12:,.0f}" for one in (found.peak_flops, gpu.peak.bf16))
    doubt = (
        f"Steps on {gpu.architecture} GPUs were measured at a peak of {measured} TFLOP/s; "
        f"{gpu.name} has {has}."
    )
    return Validity((doubt,))
