"""The highest share of peak that a published step reached, by GPU generation.

A search finds what the model overrates. A configuration that is predicted to do better than
anybody was seen to do is therefore in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.provenance import Validity
from netloom.step.residual import generation_of

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu
    from netloom.spec.scenario import Precision

__all__ = ["HIGHEST", "Highest", "efficiency_validity", "highest_of"]


class Highest(NamedTuple):
    """A published step.

    Attributes:
        mfu: What the model needs over what the GPUs could have done, by netloom's own count.
        row_id: In the table that ``netloom validate steps`` scores.
        source: Who published it.
    """

    mfu: float
    row_id: str
    source: str


_DGXC: Final = "NVIDIA/dgxc-benchmarking"
_BRIDGE: Final = "NVIDIA Megatron-Bridge performance summary"
# Of the dense rows of the shipped table that raise no doubt, by generation and whether products
# are 8-bit; a test counts them again. No such row: nothing is said (8-bit on B200, 16-bit on
# GB300).
HIGHEST: Final = {
    ("ampere", False): Highest(0.6343, "megascale-0006", "MegaScale, arXiv:2402.15627"),
    ("hopper", False): Highest(0.5606, "nvidia_dgxc-0114", _DGXC),
    ("hopper", True): Highest(0.4275, "nvidia_dgxc-0120", _DGXC),
    ("blackwell", False): Highest(0.3873, "simumax_b200-0043", "MooreThreads/SimuMax v1.2"),
    ("gb200", False): Highest(0.4360, "nvidia_dgxc-0073", _DGXC),
    ("gb200", True): Highest(0.4361, "megatron_bridge-0127", _BRIDGE),
    ("gb300", True): Highest(0.5290, "megatron_bridge-0192", _BRIDGE),
    ("volta", False): Highest(0.3777, "megatron-0037", "Megatron-LM README, September 2020"),
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
