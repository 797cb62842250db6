"""The highest share of peak that a published step reached, by GPU generation.

A search finds what the model overrates. A configuration that is predicted to do better than
anybody was seen to do is therefore in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.compute.generation import GENERATIONS
from netloom.provenance import Validity
from netloom.step.residual import generation_of

if TYPE_CHECKING:
    from netloom.compute.generation import Highest
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Precision

__all__ = ["HIGHEST", "efficiency_validity", "highest_of"]


# Of the dense rows of the shipped table that raise no doubt, by generation and whether products
# are 8-bit; a test counts them again. No such row: nothing is said (8-bit on B200, 16-bit on
# GB300).
HIGHEST: Final = {
    (name, is_fp8): highest
    for one in GENERATIONS.entries()
    for name, found in {one.name: one.steps, **one.superchips}.items()
    for is_fp8, highest in ((False, found.highest), (True, found.highest_fp8))
    if highest is not None
}


def highest_of(gpu: Gpu, precision: Precision) -> Highest | None:
    """Return the highest measured share of peak on GPUs like *gpu*; None where none is known."""
    return HIGHEST.get((generation_of(gpu), precision == "fp8"))


def efficiency_validity(gpu: Gpu, precision: Precision, *, mfu: float) -> Validity:
    """Return a doubt where *mfu* is more than anybody was seen to reach on such GPUs."""
    highest = highest_of(gpu, precision)
    if highest is None or mfu <= highest.mfu:
        return Validity()
    doubt = (
        f"{mfu:.1%} MFU is more than any published step on {gpu.architecture} reached at "
        f"{'8' if precision == 'fp8' else '16'} bits: {highest.mfu:.1%} ({highest.source}, row "
        f"{highest.row_id})."
    )
    return Validity((doubt,))
