"""A scenario's network, live on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
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
    from netloom.app.lab.store import (
        lab_folder,
    )

__all__ = [
    "FaultReport",
    "LabNames",
    "LabStart",
    "LabStop",
    "clear",
    "down",
    "fault",
    "lab_folder",
    "names",
    "status",
    "up",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.lab.run": (
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
        ),
        "netloom.app.lab.store": ("lab_folder",),
    },
)
