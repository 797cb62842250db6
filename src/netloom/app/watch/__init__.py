"""What happens in a network, look by look?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.watch.alerting import (
        AlertTargets,
    )
    from netloom.app.watch.run import (
        WatchReport,
        default_store,
        remote_access,
        watch,
        write_monitoring_files,
    )
    from netloom.app.watch.sources import (
        WatchSources,
    )

__all__ = [
    "AlertTargets",
    "WatchReport",
    "WatchSources",
    "default_store",
    "remote_access",
    "watch",
    "write_monitoring_files",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.watch.alerting": ("AlertTargets",),
        "netloom.app.watch.run": (
            "WatchReport",
            "default_store",
            "remote_access",
            "watch",
            "write_monitoring_files",
        ),
        "netloom.app.watch.sources": ("WatchSources",),
    },
)
