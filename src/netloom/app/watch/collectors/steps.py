"""Step times that a job writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.jobs import StepTimeCollector
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, _: CollectContext) -> Sequence[Collector]:
    return (StepTimeCollector(path=Path(target)),)


ENTRY: Final = CollectorKind(
    name="steps",
    summary="step times of a job; target: a file of JSON lines or CSV",
    collectors=_collectors,
    is_vital=lambda _: False,
)
