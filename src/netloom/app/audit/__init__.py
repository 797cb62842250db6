"""Is the network cabled as designed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.audit.run import (
        audit,
    )
    from netloom.app.watch.naming_files import (
        naming_from,
    )
    from netloom.ops.observe.audit import (
        Audit,
    )

__all__ = [
    "Audit",
    "audit",
    "naming_from",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.audit.run": ("audit",),
        "netloom.app.watch.naming_files": ("naming_from",),
        "netloom.ops.observe.audit": ("Audit",),
    },
)
