"""Results of nccl-tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.jobs import NcclTestsFile
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, _: CollectContext) -> Sequence[Collector]:
    return (NcclTestsFile(path=Path(target)),)


ENTRY: Final = CollectorKind(
    name="nccl-tests",
    summary="results of nccl-tests; target: what it printed, or wrote with -J",
    collectors=_collectors,
    is_vital=lambda _: False,
)
