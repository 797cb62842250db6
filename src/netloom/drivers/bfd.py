"""BFD sessions of FRR: which neighbours answer in time."""

from __future__ import annotations

from netloom.drivers.programs import run
from netloom.formats.frr.bfd import Session, parse_sessions

__all__ = [
    "sessions",
]


def sessions(pathspace: str) -> tuple[Session, ...]:
    """Return the BFD sessions of a switch.

    Raises:
        LabError: bfdd does not answer.
    """
    return parse_sessions(run(["vtysh", "-N", pathspace, "-c", "show bfd peers json"]))
