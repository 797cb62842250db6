"""Prometheus targets, such as node_exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.app.watch.scraped import Scraped
from netloom.drivers.devices.exporters import look
from netloom.drivers.prometheus import check_url
from netloom.ops.observe.collectors import CollectorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport
    from netloom.ops.observe.observation import Collector

__all__ = ["ENTRY"]


def _collectors(target: str, context: CollectContext) -> Sequence[Collector]:
    return (Scraped(url=check_url(target), names=context.naming.devices),)


def _opened(access: DeviceAccess, _: CollectContext) -> Callable[[], DeviceReport]:
    return lambda: look(access)


ENTRY: Final = CollectorKind(
    name="prometheus",
    summary="a Prometheus target, such as node_exporter or DCGM's; address: its URL",
    collectors=_collectors,
    is_vital=lambda _: True,
    opened=_opened,
)
