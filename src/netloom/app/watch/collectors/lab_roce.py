"""A lab of FRR in network namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.lab.store import folder_of_lab
from netloom.app.watch.targets import roce_lab_collectors
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, context: CollectContext) -> Sequence[Collector]:
    return roce_lab_collectors(folder_of_lab(Path(target)), context.designed)


ENTRY: Final = CollectorKind(
    name="lab-roce",
    summary="an Ethernet lab; target: its folder",
    collectors=_collectors,
    is_vital=lambda _: True,
)
