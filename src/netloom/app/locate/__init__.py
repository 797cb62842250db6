"""Which part of a network is broken?"""

from __future__ import annotations

from netloom.app.locate.run import LocateReport, StoredFindings, locate

__all__ = ["LocateReport", "StoredFindings", "locate"]
