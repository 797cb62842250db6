"""Flows and probes that another program writes to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.probing import FlowFileCollector
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, context: CollectContext) -> Sequence[Collector]:
    return (FlowFileCollector(path=Path(target), fresh_s=context.fresh_s),)


ENTRY: Final = CollectorKind(
    name="flows",
    summary="flows and probes; target: a file in the format of locate --observations",
    collectors=_collectors,
    is_vital=lambda _: True,
)
