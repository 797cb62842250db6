"""Dumps of PyTorch's flight recorders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.watch.jobs import FlightRecorders
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, _: CollectContext) -> Sequence[Collector]:
    return (FlightRecorders(folder=Path(target)),)


ENTRY: Final = CollectorKind(
    name="flight-recorder",
    summary="dumps of PyTorch's flight recorders; target: their folder, one file a rank",
    collectors=_collectors,
    is_vital=lambda _: False,
)
