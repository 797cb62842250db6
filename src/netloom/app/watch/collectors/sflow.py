"""Switches that send sFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.app.watch.devices.kind import opened_kind
from netloom.drivers.devices.sflow import listen

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["ENTRY"]


def _opened(access: DeviceAccess, context: CollectContext) -> Callable[[], DeviceReport]:
    return listen(access, context.closing)


ENTRY: Final = opened_kind(
    "sflow",
    "counters that a switch sends by sFlow 5; address: AGENT, or AGENT@HOST:PORT to listen there",
    _opened,
)
