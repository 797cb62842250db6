"""What each generation of scale-up network was measured to achieve.

NCCL's tables say what it expects; these say what was reached. Each number is a
:class:`Constant` with its source, and the note says which rows it was taken from, so that
those rows are not mistaken for a check of the model.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from netloom.compute.generation import GENERATIONS, Constant, Profile
from netloom.compute.generations.shared import constant

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CHUNK_BYTES",
    "PCIE_SHARE",
    "Constant",
    "Profile",
    "is_measured",
    "profile_of",
    "with_profile",
]

# The ramp counts doublings from here: one chunk of every channel.
CHUNK_BYTES: Final = 2.0**20

_PROFILES: Final[dict[str, Profile]] = {
    one.name: one.collectives for one in GENERATIONS.entries() if one.collectives is not None
}
# Nothing is measured on these: the generation beside them stands in, with a doubt.
_NEAREST: Final = {one.name: one.nearest for one in GENERATIONS.entries() if one.nearest}

PCIE_SHARE: Final = (
    constant(
        "share of the PCIe rate in a ring of up to 4 GPUs",
        0.692,
        "MooreThreads/SimuMax v1.2, system a100_pcie",
        "fitted there: 0.6924 on 4 GPUs, 0.6965 on 2",
    ),
    constant(
        "share of the PCIe rate in a ring of more GPUs",
        0.418,
        "MooreThreads/SimuMax v1.2, system a100_pcie",
        "fitted there: 0.4176 on 8 GPUs, which cross the sockets",
    ),
)


def profile_of(architecture: str) -> Profile:
    """Return the profile of a GPU architecture, or of the nearest one that was measured."""
    name = architecture.lower()
    known = next((key for key in _PROFILES if key in name), None)
    return _PROFILES[known or _NEAREST.get(name, "ampere")]


def is_measured(architecture: str) -> bool:
    """Return whether collectives on *architecture* itself were measured."""
    return any(key in architecture.lower() for key in _PROFILES)


@contextmanager
def with_profile(name: str, instead: Profile) -> Iterator[None]:
    """Use *instead* for the generation called *name* while the context lasts: to fit it."""
    before = _PROFILES[name]
    _PROFILES[name] = instead
    try:
        yield
    finally:
        _PROFILES[name] = before
