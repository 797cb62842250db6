"""RDMA adapters of this machine, from sysfs."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.hosts import Adapters
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, context: CollectContext) -> Sequence[Collector]:
    root = Path(target or "/sys")
    return (Adapters(root=root, host=platform.node(), names=context.naming.devices),)


ENTRY: Final = CollectorKind(
    name="adapters",
    summary="this machine's RDMA adapters; target: where sysfs is mounted, /sys by default",
    collectors=_collectors,
    is_vital=lambda _: True,
)
