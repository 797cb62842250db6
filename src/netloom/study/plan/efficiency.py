"""The highest share of peak that a published step reached, by GPU generation.

A search finds what the model overrates. A configuration that is predicted to do better than
anybody was seen to do is therefore in doubt.
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
    from netloom.validated.steps import HighestMfu

__all__ = ["efficiency_validity", "highest_of"]


def highest_of(gpu: Gpu, precision: Precision) -> HighestMfu | None:
    """Return the highest measured share of peak on GPUs like *gpu*; None where none is known."""
    return highest_mfu().get((generation_of(gpu), is_cast(precision)))


def efficiency_validity(gpu: Gpu, precision: Precision, *, mfu: float) -> Validity:
    """Return a doubt where *mfu* is more than anybody was seen to reach on such GPUs."""
    highest = highest_of(gpu, precision)
    if highest is None or mfu <= highest.mfu:
        return Validity()
    doubt = (
        f"{mfu:.1%} MFU is more than any published step on {gpu.architecture} reached at "
        f"{'8 or fewer' if is_cast(precision) else '16'} bits: {highest.mfu:.1%} "
        f"({highest.source}, row {highest.row_id})."
    )
    return Validity((doubt,))
