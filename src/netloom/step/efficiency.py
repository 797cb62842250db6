"""The highest share of peak that a published step reached, by GPU generation.

A search finds what the model overrates, and so does a hopeful scenario. A step that is predicted
to do better than any that was published is therefore in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Validity
from netloom.spec.precision import is_cast
from netloom.step.residual import generation_of
from netloom.validated.steps import highest_mfu

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Precision
    from netloom.step.model import Step
    from netloom.validated.steps import HighestMfu

__all__ = ["efficiency_validity", "highest_of", "validity_besides_mfu"]


def highest_of(gpu: Gpu, precision: Precision) -> HighestMfu | None:
    """Return the highest measured share of peak on GPUs like *gpu*; None where none is known."""
    return highest_mfu().get((generation_of(gpu), is_cast(precision)))


def efficiency_validity(gpu: Gpu, precision: Precision, *, mfu: float) -> Validity:
    """Return a doubt where *mfu* is more than any published step reached on such GPUs."""
    highest = highest_of(gpu, precision)
    if highest is None or mfu <= highest.mfu:
        return Validity()
    doubt = (
        f"{mfu:.1%} MFU is more than any published step on {gpu.architecture} reached at "
        f"{'8 or fewer' if is_cast(precision) else '16'} bits: {highest.mfu:.1%} "
        f"({highest.source}, row {highest.row_id})."
    )
    return Validity((doubt,))


def validity_besides_mfu(step: Step, gpu: Gpu, precision: Precision) -> Validity:
    """Return the validity of *step* but for what its MFU puts in doubt."""
    peak = efficiency_validity(gpu, precision, mfu=step.mfu)
    return Validity(tuple(doubt for doubt in step.validity.doubts if doubt not in peak.doubts))
