"""Warnings in a log of NCCL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.jobs import NcclLogFile
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, _: CollectContext) -> Sequence[Collector]:
    return (NcclLogFile(path=Path(target)),)


ENTRY: Final = CollectorKind(
    name="nccl-log",
    summary="warnings of NCCL; target: the file that it logs to",
    collectors=_collectors,
    is_vital=lambda _: False,
)
