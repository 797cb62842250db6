"""A scenario's network, live on this machine."""

from __future__ import annotations

from netloom.app.lab.run import (
    FaultReport,
    LabNames,
    LabStart,
    LabStop,
    clear,
    down,
    fault,
    names,
    status,
    up,
)

__all__ = [
    "FaultReport",
    "LabNames",
    "LabStart",
    "LabStop",
    "clear",
    "down",
    "fault",
    "names",
    "status",
    "up",
]
