"""Is the network cabled as designed?"""

from __future__ import annotations

from netloom.app.audit.run import audit
from netloom.app.watch.naming_files import naming_from
from netloom.ops.observe.audit import Audit

__all__ = ["Audit", "audit", "naming_from"]
