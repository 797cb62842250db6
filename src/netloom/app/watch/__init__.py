"""What happens in a network, look by look?"""

from __future__ import annotations

from netloom.app.watch.run import WatchReport, default_store, watch, write_monitoring_files
from netloom.app.watch.sources import WatchSources

__all__ = ["WatchReport", "WatchSources", "default_store", "watch", "write_monitoring_files"]
