"""The InfiniBand network that this machine is part of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.targets import collectors_here
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, context: CollectContext) -> Sequence[Collector]:
    sm_log = Path(target) if target else None
    return collectors_here(context.designed, context.naming, context.scratch, sm_log)


ENTRY: Final = CollectorKind(
    name="infiniband",
    summary="the InfiniBand network of this machine; target: the log of OpenSM, where it runs here",
    collectors=_collectors,
    is_vital=lambda source: not source.startswith("log "),
)
