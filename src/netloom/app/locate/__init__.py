"""Which part of a network is broken?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.locate.run import (
        LocateReport,
        StoredFindings,
        locate,
    )

__all__ = [
    "LocateReport",
    "StoredFindings",
    "locate",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.locate.run": (
            "LocateReport",
            "StoredFindings",
            "locate",
        ),
    },
)
